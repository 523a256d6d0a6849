"""SQL text of a plan: one SELECT over granted views and the DataFrames that come with it."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.analysis.lexemes import Lexeme, LexemeKind, lexemes
from tidegate.compiler.sql.permitted import Permissions
from tidegate.compiler.sql.qualifiers import shorten_columns
from tidegate.compiler.sql.queries import ParsedQuery, SqlFault, TableReference, parse_permitted, parse_query
from tidegate.compiler.sql.sql_text import Edit, apply_edits
from tidegate.names import TableName, quote
from tidegate.python_models.connect.granted_views import DATABASE, GrantedViews, qualified
from tidegate.python_models.connect.plan_functions import SCHEMA_FUNCTIONS, check_function, refusal
from tidegate.python_models.connect.plan_partitions import PlanPartitions
from tidegate.python_models.connect.plan_schemas import check_ddl
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError

__all__ = ["SqlTexts"]

_LONGEST = 1 << 18
_EXPRESSION = "SELECT "
_SCHEMA_OF = frozenset({"schema_of_csv", "schema_of_json", "schema_of_xml"})
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class SqlTexts:
    """`declared`: functions of the project, in lower case."""

    def __init__(self, views: GrantedViews, declared: frozenset[str]) -> None:
        self._views = views
        self._declared = declared
        self._permissions = Permissions(declared, False)
        self._read = 0
        self.partitions = PlanPartitions()

    def begin_plan(self) -> None:
        """The texts of one plan are counted together: to read a million signs takes a minute, which nothing ends."""
        self._read = 0
        self.partitions.begin_plan()

    def query(self, text: str, frames: frozenset[str]) -> str:
        """The query as Spark may get it. `frames`: names of DataFrames that come with it, in lower case."""
        return self._checked(text, frames, "the SQL")[0]

    def expression(self, text: str, frames: frozenset[str]) -> str:
        written = f"{_EXPRESSION}{text}"
        bound, query = self._checked(written, frames, "the expression")
        clauses = {name for name, value in query.tree.args.items() if value}
        if clauses != {"expressions"} or len(query.tree.expressions) != 1:
            raise refusal(f"{text[:200]!r} is more than one expression")
        return bound.removeprefix(_EXPRESSION)

    def _checked(self, text: str, frames: frozenset[str], what: str) -> tuple[str, ParsedQuery]:
        self._read += len(text)
        if self._read > _LONGEST:
            raise refusal(f"the SQL of one plan is longer than {_LONGEST} characters")
        try:
            query = parse_permitted(text, self._permissions)
            if isinstance(query, SqlFault):
                raise _fault(query, what)
            self._check_calls(text, what)
            bound, _ = apply_edits(query.text, self._edits(query, frames), query.start, query.end)
            self._verify(bound, frames)
        except RecursionError:
            raise refusal(f"{what} is nested too deeply") from None
        return bound, query

    def _edits(self, query: ParsedQuery, frames: frozenset[str]) -> Iterator[Edit]:
        granted: dict[int, str] = {}
        for reference in query.references:
            view = self._views.view_of_parts(reference.parts)
            if view is not None:
                granted[reference.start] = view
            elif len(reference.parts) > 1 or reference.parts[0].lower() not in frames:
                raise self._views.unknown(".".join(reference.parts))
        tables = {
            reference.start: TableName.parse(self._full_name(reference), "")
            for reference in query.references
            if reference.start in granted
        }
        shortening = shorten_columns(query, tables)
        yield from shortening.edits
        for reference in query.references:
            if reference.start not in granted:
                continue
            yield Edit(reference.start, reference.end, qualified(granted[reference.start]))
            if reference.alias is None and not _is_statement(query, reference):
                alias = shortening.aliases.get(reference.start, reference.parts[-1])
                at = _end_of_sample(query, reference)
                yield Edit(at, at, f" AS {quote(alias)}")

    def _full_name(self, reference: TableReference) -> str:
        return self._views.handle_of_table(".".join(reference.parts)).partition(" ")[2]

    def _verify(self, text: str, frames: frozenset[str]) -> None:
        """What Spark will read, parsed once more: no edit may have given it another meaning."""
        again = parse_query(text)
        if isinstance(again, SqlFault):
            raise refusal(f"the SQL cannot be bound to the model's inputs: {again.message}")
        for reference in again.references:
            single = len(reference.parts) == 1 and reference.parts[0].lower() in frames
            view = len(reference.parts) == 2 and reference.parts[0] == DATABASE and self._views.has(reference.parts[1])
            if not single and not view:
                raise self._views.unknown(".".join(reference.parts))

    def _check_calls(self, text: str, what: str) -> None:
        pieces = lexemes(text)
        if isinstance(pieces, int):
            raise refusal(f"{what} cannot be split into words for certain")
        for place, piece in enumerate(pieces[:-1]):
            if piece.kind is LexemeKind.HINT:
                self.partitions.ask_hint_text(piece)
            if not piece.name or pieces[place + 1].text != "(":
                continue
            if piece.name.startswith("input_file"):
                check_function(piece.name, self._declared)
            if piece.name == "range":
                self.partitions.ask_range_text(_arguments(pieces, place + 1))
            if piece.name in SCHEMA_FUNCTIONS:
                for argument in _arguments(pieces, place + 1)[1:]:
                    _check_schema_argument(argument, piece.name)


def _arguments(pieces: list[Lexeme], opening: int) -> list[list[Lexeme]]:
    """Of the call whose parenthesis opens at `opening`."""
    arguments: list[list[Lexeme]] = [[]]
    depth = 0
    for piece in pieces[opening:]:
        sign = piece.text if piece.kind is LexemeKind.SIGN else ""
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if depth == 0:
            break
        if sign == "," and depth == 1:
            arguments.append([])
        elif depth > 1 or sign != "(" or arguments[-1]:
            arguments[-1].append(piece)
    return arguments


def _check_schema_argument(argument: list[Lexeme], function: str) -> None:
    if len(argument) == 1 and argument[0].kind is LexemeKind.STRING:
        text = argument[0].text
        inside = text[1:-1]
        if text[0] in "'\"" and "\\" not in inside and inside.lstrip()[:1] not in ("{", "[", '"'):
            return check_ddl(inside)
    if len(argument) > 2 and argument[1].text == "(" and argument[-1].text == ")":
        values = all(piece.kind is LexemeKind.STRING or piece.text == "," for piece in argument[2:-1])
        if argument[0].name == "map" and values:
            return None
        if argument[0].name in _SCHEMA_OF and all(piece.text != ")" for piece in argument[2:-1]) and values:
            return None
    raise refusal(f"the schema and the options of {function} must be plain texts: '{function}(text, 'id bigint')'")


def _is_statement(query: ParsedQuery, reference: TableReference) -> bool:
    """`TABLE a.b` takes no alias."""
    before = [token for token in query.tokens if token.end < reference.start]
    return bool(before) and before[-1].text.upper() == "TABLE"


def _end_of_sample(query: ParsedQuery, reference: TableReference) -> int:
    """Where an alias may stand: after the name, or after the TABLESAMPLE clause that follows it."""
    end, depth = reference.end, 0
    following = [token for token in query.tokens if token.start >= reference.end]
    if not following or following[0].text.upper() != "TABLESAMPLE":
        return end
    for token in following:
        if depth == 0 and token.text.upper() not in {"TABLESAMPLE", "REPEATABLE", "("}:
            break
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        end = int(token.end) + 1
    return end


def _fault(fault: SqlFault, what: str) -> CallRefusedError:
    hint = f"; {fault.suggestion}" if fault.suggestion else ""
    return refusal(f"{what} is refused: {fault.message}{hint}")
