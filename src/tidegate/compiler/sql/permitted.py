"""What a query may do: compute with functions that are known, over relations that are named. All else is refused.

Spark runs shell commands (TRANSFORM), calls methods of the JVM (reflect) and reads files by their path, all inside a
SELECT. So the words of the text are compared with a list of what is known, as Spark itself splits them, whatever
tree the parser makes of them; and the tree may hold nothing that the parser took over without reading it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlglot import exp
from sqlglot.tokens import Token

from tidegate.compiler.analysis.functions.lookup import FUNCTIONS, NAMES, READS_FILES, RUNS_CODE, WITH_OPTIONS
from tidegate.compiler.analysis.lexemes import Lexeme, LexemeKind, difference, lexemes
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["NotPermitted", "PermissionCheck", "Permissions", "UnlistedCall"]


@dataclass(frozen=True, slots=True)
class Permissions:
    """What a project allows besides Spark's functions: its own, in lower case, and `code` (TRANSFORM, reflect).

    `tables`: its table functions, where they may be called.
    """

    functions: frozenset[str] = frozenset()
    code: bool = False
    tables: frozenset[str] = frozenset()


class NotPermitted(NamedTuple):
    code: str
    message: str
    offset: int
    suggestion: str


class UnlistedCall(NamedTuple):
    """A call of a function that is neither Spark's nor declared by the project."""

    message: str
    offset: int
    suggestion: str | None


_KEYWORDS = frozenset(
    """
    aggregate all and anti any array as asc at between bigint binary boolean bucket by bytes case cast char
    character cluster collate columns cross cube current date day days dec decimal delete desc distinct
    distribute div double else end escape except exclude exists extend filter first float following for from
    full geography geometry group grouping having hour hours ignore ilike in include inner int integer intersect
    interval into is join last lateral left like limit long map matched microsecond millisecond minus minute
    minutes month months name natural next not null nulls numeric of offset on only or order out outer over
    partition percent pivot preceding quarter range real recursive regexp repeatable respect right rlike rollup
    row rows sample second seconds select semi set sets short smallint some sort string struct table tablesample
    then time timestamp timestamp_ltz timestamp_ntz tinyint to try_cast unbounded union unpivot using values
    varchar variant view void week weeks when where window with within year years
    """.split()  # noqa: SIM905
)
"""Words of Spark's grammar behind which a parenthesis may open. A function of the same name is in the list anyway."""

_FIRST_WORDS = frozenset({"select", "with", "values", "from", "table"})
_QUALIFIERS = frozenset({("builtin",), ("session",), ("system", "builtin"), ("system", "session"), ("system",)})
_ICEBERG = frozenset({"bucket", "truncate", "years", "months", "days", "hours", "iceberg_version"})
"""Functions that a catalog of Iceberg has, written system.bucket(…)."""

_IN_MODELS = "compute it in SQL, or set allow_code = true in [spark], which lets SQL models run code"
_ELSEWHERE = "compute it in SQL; only a SQL model may run code, where [spark] allow_code is set"


class PermissionCheck:
    """One query compared with the lists. `text`: all of it; `model`: it is a model's, which decides the suggestions."""

    def __init__(
        self, text: str, tokens: Sequence[Token], tree: Any, permissions: Permissions, *, model: bool = False
    ) -> None:
        self.tree = tree
        self.permissions = permissions
        pieces = lexemes(text)
        self.unsure = pieces if isinstance(pieces, int) else difference(pieces, tokens, text)
        self.words = _LexemeRules(
            [] if isinstance(pieces, int) else pieces, permissions, _IN_MODELS if model else _ELSEWHERE
        )

    def refusals(self) -> Iterator[NotPermitted]:
        if self.unsure is not None:
            message = "it is not certain how Spark splits the text here into words, quotes and comments"
            fix = "write it plainly: close each quote and comment, and quote names and texts that hold other signs"
            yield NotPermitted("UnsupportedSyntax", message, self.unsure, fix)
        yield from self.words.refusals()

    def unlisted_calls(self) -> Iterator[UnlistedCall]:
        """`name(…)` where the name is no function of Spark's, none that is declared, and has no columns behind it."""
        words, declared = self.words, self.permissions.functions
        named: set[int] | None = None
        for place, piece in enumerate(words.pieces):
            name = piece.name
            if not name or words.sign(place + 1) != "(":
                continue
            if piece.kind is LexemeKind.WORD and name in _KEYWORDS and words.sign(place - 1) != ".":
                continue
            qualifiers = words.qualifiers(place)
            if name in declared or _is_listed(name, qualifiers):
                continue
            named = _with_columns(self.tree) if named is None else named
            if piece.start not in named:
                called = ".".join([*qualifiers, piece.text.strip("`")])
                near = did_you_mean(nearest(name, [*FUNCTIONS, *declared]))
                yield UnlistedCall(f"unknown function '{called}'", piece.start, near)


class _LexemeRules:
    """The rules on the words of one query, each with those around it."""

    def __init__(self, pieces: Sequence[Lexeme], permissions: Permissions, remedy: str) -> None:
        self.pieces = pieces
        self.permissions = permissions
        self.remedy = remedy

    def sign(self, place: int) -> str:
        piece = self.pieces[place] if 0 <= place < len(self.pieces) else None
        return piece.text if piece is not None and piece.kind is LexemeKind.SIGN else ""

    def kind(self, place: int) -> LexemeKind | None:
        return self.pieces[place].kind if 0 <= place < len(self.pieces) else None

    def word(self, place: int) -> str:
        return self.pieces[place].name if self.kind(place) is LexemeKind.WORD else ""

    def qualifiers(self, place: int) -> tuple[str, ...]:
        """The names before a name, with dots between them."""
        found: list[str] = []
        while self.sign(place - 1) == "." and place >= 2 and self.pieces[place - 2].name:
            place -= 2
            found.insert(0, self.pieces[place].name)
        return tuple(found)

    def refusals(self) -> Iterator[NotPermitted]:
        yield from self._first()
        for place, piece in enumerate(self.pieces):
            if piece.kind is LexemeKind.WORD:
                yield from self._of_word(place, piece)
            if self.sign(place + 1) == "(":
                yield from self._of_call(place, piece)

    def _first(self) -> Iterator[NotPermitted]:
        place = 0
        while self.sign(place) in ("(", ";") and self.sign(place):
            place += 1
        if place < len(self.pieces) and self.word(place) not in _FIRST_WORDS:
            piece = self.pieces[place]
            message = f"a query begins with SELECT, WITH, VALUES, FROM or TABLE, not with '{piece.text}'"
            yield NotPermitted("UnsupportedSyntax", message, piece.start, "write one SELECT")

    def _of_word(self, place: int, piece: Lexeme) -> Iterator[NotPermitted]:
        if not piece.text.isascii() and (piece.text.upper().isascii() or piece.text.lower().isascii()):
            message = f"'{piece.text}' is written with letters that Spark takes for others"
            yield NotPermitted("UnsupportedSyntax", message, piece.start, "write it in plain letters, or in backquotes")
        following = self.kind(place + 1)
        if piece.name == "using" and (following is LexemeKind.STRING or self.sign(place + 1) in (":", "?")):
            if not self.permissions.code:
                yield NotPermitted("CodeInQuery", "TRANSFORM … USING runs a command", piece.start, self.remedy)
        elif piece.name == "insert" and self.word(place + 1) in ("into", "overwrite"):
            yield NotPermitted(
                "UnsupportedSyntax", "a query writes nothing", piece.start, "remove INSERT: write one SELECT"
            )

    def _of_call(self, place: int, piece: Lexeme) -> Iterator[NotPermitted]:
        if piece.kind is LexemeKind.STRING and piece.text[-1] == '"':
            message = f"{piece.text} is a text, and is called like a function"
            yield NotPermitted("UnsupportedSyntax", message, piece.start, "write the function's name without quotes")
        name = piece.name
        if piece.kind is LexemeKind.WORD and name == "identifier":
            message = "IDENTIFIER(…) hides what is named, so it cannot be checked"
            yield NotPermitted("HiddenDependency", message, piece.start, "write the name itself")
        elif name in RUNS_CODE and not self.permissions.code:
            yield NotPermitted("CodeInQuery", f"{name} runs code: {RUNS_CODE[name]}", piece.start, self.remedy)
        elif name in self.permissions.functions:
            return
        elif name in READS_FILES:
            fix = f'if the project needs it, declare it: functions = ["{name}"] in [spark]'
            yield NotPermitted("OutsideTheLake", f"{name} reaches outside: {READS_FILES[name]}", piece.start, fix)
        elif name in WITH_OPTIONS and not self._has_plain_options(place + 1, WITH_OPTIONS[name]):
            message = f"the options of {name} must be written as map('name', 'value'), and may name no file"
            fix = f'write them out, or declare the function: functions = ["{name}"] in [spark]'
            yield NotPermitted("OutsideTheLake", message, piece.start, fix)

    def _has_plain_options(self, opening: int, forbidden: str) -> bool:
        """Whether every map(…) among the arguments holds texts alone, and nothing else could be the options."""
        depth, place, arguments = 0, opening, [opening + 1]
        while place < len(self.pieces):
            sign = self.sign(place)
            depth += {"(": 1, ")": -1}.get(sign, 0)
            if depth == 0:
                break
            if sign == "," and depth == 1:
                arguments.append(place + 1)
            place += 1
        ends = [*(start - 1 for start in arguments[1:]), place]
        document, *others = zip(arguments, ends, strict=True)
        if self.sign(document[0] + 1) == "=":  # by name, in any order
            others.insert(0, document)
        return all(self._is_text_or_texts(start, end, forbidden) for start, end in others)

    def _is_text_or_texts(self, start: int, end: int, forbidden: str) -> bool:
        inside = self.pieces[start:end]
        if len(inside) == 1:
            return inside[0].kind is LexemeKind.STRING
        if len(inside) < 3 or inside[0].name != "map" or self.sign(start + 1) != "(" or self.sign(end - 1) != ")":
            return False
        values = inside[2:-1]
        return all(
            _is_plain_text(piece, forbidden) if place % 2 == 0 else piece.text == ","
            for place, piece in enumerate(values)
        )


def _is_plain_text(piece: Lexeme, forbidden: str) -> bool:
    if piece.kind is not LexemeKind.STRING or piece.text[0] not in "'\"" or "\\" in piece.text:
        return False  # r'…' and the like
    return piece.text[1:-1].strip().lower() != forbidden


def _is_listed(name: str, qualifiers: tuple[str, ...]) -> bool:
    if not qualifiers:
        return name in NAMES
    return qualifiers in _QUALIFIERS and (name in FUNCTIONS or (qualifiers == ("system",) and name in _ICEBERG))


def _with_columns(tree: Any) -> set[int]:
    """Where names begin behind which columns are listed: `AS t(a, b)`, `WITH t (a, b) AS …`."""
    aliases = tree.find_all(exp.TableAlias)
    found = (alias.this for alias in aliases if alias.args.get("columns") and alias.this is not None)
    return {int(name.meta["start"]) for name in found if "start" in name.meta}
