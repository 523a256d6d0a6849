"""What the compiler retains about a query once its syntax tree is dropped."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from blake3 import blake3
from sqlglot import exp
from sqlglot.tokens import TokenType

from tidegate.compiler.sql.aliases import Anonymous, without_aliases
from tidegate.compiler.sql.function_calls import calls_unknown_function, first_change
from tidegate.compiler.sql.queries import ParsedQuery, TableCall, TableReference
from tidegate.compiler.sql.scopes import cte_of, driving_path, offset_of, sources_of, visible_name
from tidegate.project.template_names import LandingCall

__all__ = ["GroupingFact", "JoinFact", "QueryFacts", "facts_of", "takes_all_columns"]

_AS_WRITTEN = {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.STRING,
    TokenType.RAW_STRING,
    TokenType.NATIONAL_STRING,
    TokenType.HEX_STRING,
    TokenType.BIT_STRING,
    TokenType.BYTE_STRING,
    TokenType.HINT,
}


@dataclass(frozen=True, slots=True)
class JoinFact:
    """A join that is not part of another."""

    side: str
    """LEFT, RIGHT, FULL or empty."""
    inner: bool
    """Both sides must match."""
    offset: int


@dataclass(frozen=True, slots=True)
class GroupingFact:
    """A SELECT on the driving path that computes over several rows."""

    what: str
    picks: bool
    """It only chooses among the rows."""
    offset: int


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """What later passes need of a query."""

    references: tuple[TableReference, ...]
    landings: tuple[LandingCall, ...]
    words: str
    """Digest of the query without formatting and `aliases`."""
    written: str
    """Digest of the query without formatting; empty where it has no aliases."""
    aliases: frozenset[str]
    changing: tuple[str, int] | None
    """What makes it give other rows another time, and where."""
    unknown_function: bool
    """It calls a function that may give other rows another time."""
    dates: tuple[tuple[int, str], ...]
    """Uses of @start_date and @end_date."""
    joins: tuple[JoinFact, ...]
    groupings: tuple[GroupingFact, ...]
    both_ways: tuple[str, int] | None
    """A CTE, with its offset, that drives the query and is also looked up by it."""
    ctes: frozenset[str]
    star: bool
    """The result takes whatever columns its input has."""
    calls: tuple[TableCall, ...] = ()
    """Of table functions of the project."""

    @property
    def deterministic(self) -> bool:
        return self.changing is None and not self.unknown_function


def facts_of(query: ParsedQuery, landings: tuple[LandingCall, ...]) -> QueryFacts:
    kinds = [token.token_type for token in query.tokens]
    words, upper = _words(query, kinds)
    anonymous = without_aliases(query, words, kinds) or Anonymous(words, frozenset())
    return QueryFacts(
        references=tuple(replace(reference, node=None) for reference in query.references),
        landings=landings,
        words=_digest(anonymous.words),
        written=_digest(words) if anonymous.names else "",
        aliases=anonymous.names,
        changing=first_change(query, upper),
        unknown_function=calls_unknown_function(query),
        dates=_dates(query),
        joins=tuple(_joins(query)),
        groupings=tuple(_groupings(query)),
        both_ways=_both_ways(query),
        ctes=frozenset(cte.alias.lower() for cte in query.nodes[exp.CTE]),
        star=takes_all_columns(query.tree, {call.placeholder for call in landings}),
        calls=tuple(replace(call, node=None) for call in query.calls),
    )


def _digest(words: Sequence[str]) -> str:
    return str(blake3("\0".join(words).encode()).hexdigest())


def _words(query: ParsedQuery, kinds: list[TokenType]) -> tuple[list[str], list[str]]:
    """The words with the case that matters, and all in upper case.

    Cut from the text rather than generated from the tree, so that none is lost.
    """
    text, tokens = query.text, query.tokens
    words = [text[token.start : token.end + 1] for token in tokens]
    upper = [word.upper() for word in words]
    for i, kind in enumerate(kinds):
        if kind not in _AS_WRITTEN or (kind is TokenType.VAR and kinds[i + 1 : i + 2] == [TokenType.L_PAREN]):
            words[i] = upper[i]
    return words, upper


def _dates(query: ParsedQuery) -> tuple[tuple[int, str], ...]:
    if "@" not in query.text:
        return ()
    dates = []
    for i, sign in enumerate(query.tokens[:-1]):
        word = query.tokens[i + 1].text.lower()
        if sign.token_type is TokenType.PARAMETER and word in {"start_date", "end_date"}:
            dates.append((sign.start, word))
    return tuple(dates)


def _joins(query: ParsedQuery) -> list[JoinFact]:
    joins: list[JoinFact] = []
    for join in query.nodes[exp.Join]:
        if join.find_ancestor(exp.Join) is None:
            inner = not join.side and join.kind not in ("SEMI", "ANTI")
            joins.append(JoinFact(str(join.side), inner, offset_of(join)))
    return joins


def _both_ways(query: ParsedQuery) -> tuple[str, int] | None:
    driving = [cte for cte in query.path.ctes if driving_path(cte.this).tables]
    for table in query.nodes[exp.Table] if driving else ():
        cte = cte_of(table)
        if cte is not None and id(table) not in query.path.names and any(cte is other for other in driving):
            return str(table.name), offset_of(table)
    return None


def _groupings(query: ParsedQuery) -> list[GroupingFact]:
    groupings = []
    for select in query.path.selects:
        what, picks = _grouping(select)
        if what and driving_path(select).tables:
            groupings.append(GroupingFact(what, picks, offset_of(select)))
    return groupings


def _grouping(select: Any) -> tuple[str, bool]:
    if select.args.get("group"):
        return "an aggregate", False
    calls = [node for item in select.expressions for node in item.find_all(exp.AggFunc, exp.Window)]
    own = [node for node in calls if node.find_ancestor(exp.Select) is select]
    if any(isinstance(call, exp.AggFunc) and not call.find_ancestor(exp.Window) for call in own):
        return "an aggregate", False
    if select.args.get("distinct"):
        return "DISTINCT", True
    return ("a window function", True) if own else ("", False)


def takes_all_columns(tree: Any, landings: Collection[str] = ()) -> bool:
    """`landings`: the placeholders of landing zones, whose columns no other model decides."""
    visited: set[int] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, exp.SetOperation):
            waiting += [node.this, node.expression]
        elif isinstance(node, exp.Subquery):
            waiting.append(node.this)
        elif isinstance(node, exp.Select):
            waiting += _starred(node)
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            cte = cte_of(node)
            if cte is not None:
                waiting.append(cte.this)
            elif node.name not in landings:
                return True
    return False


def _starred(select: Any) -> list[Any]:
    """The relations of which the SELECT takes all columns."""
    stars = [item for item in select.expressions if item.is_star]
    if not stars:
        return []
    sources = sources_of(select)
    if any(isinstance(star, exp.Star) for star in stars):
        return sources
    qualifiers = {star.table.lower() for star in stars if isinstance(star, exp.Column)}
    return [source for source in sources if visible_name(source) in qualifiers]
