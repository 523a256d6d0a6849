"""The text of a query with its CTEs written out where they are read, and the places of its tables and subqueries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from tidegate.compiler.sql.faithful_text import difference_in_text
from tidegate.compiler.sql.queries import ParsedQuery, parse_query
from tidegate.compiler.sql.scopes import alias_columns, cte_of
from tidegate.compiler.sql.sql_text import (
    CANNOT_REWRITE,
    READ_TOO_OFTEN,
    STEPS,
    CannotRewriteError,
    Edit,
    name_text,
    parenthesized,
    same_meaning,
)

__all__ = ["Script", "read_script", "span_of_table"]

_LONGEST = 400_000
_BEGINS_QUERY = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM, TokenType.TABLE})


class Script:
    """One query without WITH: its text, its tree, and the span of each subquery (the parentheses included)."""

    def __init__(self, query: ParsedQuery) -> None:
        self.text = query.text
        self.tree: Any = query.tree
        self.start, self.end = query.start, query.end
        self._spans = _query_spans(query)

    def span(self, subquery: Any) -> tuple[int, int]:
        """The span of a subquery. Raises CannotRewriteError where it is not certain."""
        found = self._spans.get(id(subquery))
        if found is not None:
            again = parse_query(self.text[found[0] : found[1]])
            if isinstance(again, ParsedQuery) and same_meaning(_bare(again.tree), _bare(subquery)):
                return found
        raise CannotRewriteError(CANNOT_REWRITE)

    def render(self, edits: Mapping[int, Edit], start: int | None = None, end: int | None = None) -> str:
        """A part of the text, with the edits inside it."""
        at = self.start if start is None else start
        end = self.end if end is None else end
        parts = []
        for edit in sorted(edits.values(), key=lambda edit: (edit.start, edit.end)):
            if at <= edit.start and edit.end <= end:
                parts += [self.text[at : edit.start], edit.text]
                at = edit.end
        return "".join([*parts, self.text[at:end]])


def _bare(tree: Any) -> Any:
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    return tree


def span_of_table(table: Any) -> tuple[int, int]:
    parts = table.parts
    return int(parts[0].meta["start"]), int(parts[-1].meta["end"]) + 1


def read_script(sql: str | ParsedQuery, *, faithful: bool = False) -> Script:
    """`sql`: also a parsed query, which is not changed. `faithful`: for a rewrite that makes texts of the query's tree.

    Raises CannotRewriteError, with `faithful` also where such texts say other things than the query.
    """
    parsed = parse_query(sql) if isinstance(sql, str) else sql
    if not isinstance(parsed, ParsedQuery):
        raise CannotRewriteError(f"{CANNOT_REWRITE}: {parsed.message}")
    if any(token.token_type is TokenType.PIPE_GT for token in parsed.tokens):
        raise CannotRewriteError(STEPS)
    query = _without_with(parsed) if parsed.nodes[exp.CTE] else parsed
    if faithful and (difference := difference_in_text(parsed)) is not None:
        raise CannotRewriteError(f"{CANNOT_REWRITE}: {difference}")
    if query is not sql:
        query.tree.meta.pop("words", None)
    return Script(query)


def _without_with(query: ParsedQuery) -> ParsedQuery:
    text = query.text
    places = {token.start: place for place, token in enumerate(query.tokens)}
    closing = _closing(query.tokens)
    bodies: dict[int, tuple[int, int]] = {}
    cuts: list[tuple[int, int]] = []
    for clause in query.tree.find_all(exp.With):
        if clause.args.get("recursive"):
            raise CannotRewriteError("a recursive WITH")
        last = 0
        for cte in clause.expressions:
            opening = _body_of(query.tokens, closing, places[cte.args["alias"].this.meta["start"]])
            last = query.tokens[closing[opening]].end + 1
            bodies[id(cte)] = (query.tokens[opening].start + 1, last - 1)
        first = places[clause.expressions[0].args["alias"].this.meta["start"]]
        while query.tokens[first].token_type is not TokenType.WITH:
            first -= 1
        cuts.append((query.tokens[first].start, last))
    reads = {
        span_of_table(table): (table, cte)
        for table in query.nodes[exp.Table]
        if isinstance(table.this, exp.Identifier)
        and table.find_ancestor(exp.Hint) is None
        and (cte := cte_of(table)) is not None
    }
    known: dict[int, str] = {}

    def body(cte: Any) -> str:
        if id(cte) not in known:
            start, end = bodies[id(cte)]
            inside = rendered(start, end).strip()
            names = [name_text(column.name) for column in alias_columns(cte)]
            if names:
                inside = f"SELECT * FROM {parenthesized(inside)} AS {name_text(cte.alias)}({', '.join(names)})"
            known[id(cte)] = inside
        return known[id(cte)]

    def rendered(start: int, end: int) -> str:
        parts = []
        at = start
        for (a, b), found in sorted([*((cut, None) for cut in cuts), *reads.items()], key=lambda pair: pair[0]):
            if a < at or b > end:
                continue
            parts.append(text[at:a])
            if found is not None:
                table, cte = found
                named = table.alias or table.args.get("sample") or table.args.get("pivots")
                parts.append(parenthesized(body(cte)) + ("" if named else f" AS {name_text(table.name)}"))
            at = b
        result = "".join([*parts, text[at:end]])
        if len(result) > _LONGEST:
            raise CannotRewriteError(READ_TOO_OFTEN)
        return result

    written_out = rendered(query.start, query.end).strip()
    again = parse_query(written_out)
    if not isinstance(again, ParsedQuery) or again.nodes[exp.CTE]:
        raise CannotRewriteError(CANNOT_REWRITE)
    return again


def _body_of(tokens: Any, closing: Mapping[int, int], place: int) -> int:
    """The parenthesis that opens the query of `name [(columns)] AS (…)`."""
    place += 1
    if tokens[place].token_type is TokenType.L_PAREN and tokens[closing[place] + 1].token_type is TokenType.ALIAS:
        place = closing[place] + 1
    while tokens[place].token_type is not TokenType.L_PAREN:
        place += 1
    return place


def _closing(tokens: Any) -> dict[int, int]:
    found: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.L_PAREN:
            opened.append(place)
        elif token.token_type is TokenType.R_PAREN and opened:
            found[opened.pop()] = place
    return found


def _query_spans(query: ParsedQuery) -> dict[int, tuple[int, int]]:
    """By `id()` of the node. The parser keeps no places of subqueries, only of the names in them.

    From the inside out, each takes the narrowest parentheses around its names that begin a query.
    """
    tokens = query.tokens
    parentheses = sorted(
        (
            (tokens[parenthesized].end + 1 - tokens[opened].start, tokens[opened].start, tokens[parenthesized].end + 1)
            for opened, parenthesized in _closing(tokens).items()
            if _begins_query(tokens, opened)
        ),
    )
    spans: dict[int, tuple[int, int]] = {}
    taken: set[int] = set()
    for node in reversed(list(query.tree.walk(bfs=True))):
        if not isinstance(node, exp.Subquery) or isinstance(node.this, exp.Table):
            continue
        starts = [found.meta["start"] for found in node.this.find_all(exp.Identifier) if "start" in found.meta]
        if not starts:
            continue
        first, last = min(starts), max(starts)
        for _, start, end in parentheses:
            if start not in taken and start < first and last < end:
                taken.add(start)
                spans[id(node)] = (start, end)
                break
    return spans


def _begins_query(tokens: Any, place: int) -> bool:
    while place < len(tokens) and tokens[place].token_type is TokenType.L_PAREN:
        place += 1
    return place < len(tokens) and tokens[place].token_type in _BEGINS_QUERY
