"""A query's words without the names that are not visible outside it: aliases of tables, and names of CTEs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlglot import exp
from sqlglot.tokens import TokenType

from tidegate.compiler.sql.queries import ParsedQuery
from tidegate.compiler.sql.scopes import cte_of, sources_of, visible_name

__all__ = ["Anonymous", "without_aliases"]

_DOUBTFUL = frozenset({TokenType.HINT, TokenType.PIPE_GT, TokenType.PIVOT, TokenType.UNPIVOT})
"""Words after which names are used in ways that the tree does not show."""


class Anonymous(NamedTuple):
    """`names`: those that were removed, in lower case."""

    words: Sequence[str]
    names: frozenset[str]


class _Doubt(Exception):
    """It is not certain what a name means."""


def without_aliases(query: ParsedQuery, words: Sequence[str], kinds: Sequence[TokenType]) -> Anonymous | None:
    """Relations get numbers in order of appearance, and each use of a name is replaced by the number.

    Two queries have the same words then only if each name means the same in both. None where that is in doubt; then all
    names count. `words` and `kinds`: those of the query's tokens.
    """
    if not _DOUBTFUL.isdisjoint(kinds):
        return None
    try:
        return _Names(query).applied(words, kinds)
    except (_Doubt, KeyError):
        # A name that is not among the tokens, or an unforeseen kind of relation.
        return None


class _Names:
    """The relations of a query: `numbers` by the `id()` of their nodes, and their names."""

    def __init__(self, query: ParsedQuery) -> None:
        self.query = query
        defined = sorted(_defined(query), key=lambda found: found[0])
        self.numbers = {id(node): f"\1{number}" for number, (_, node) in enumerate(defined)}
        self.names = frozenset(visible_name(node) for _, node in defined)
        self._visible: dict[int, Mapping[str, str | None]] = {}
        self._known: dict[tuple[int, str], str | None] = {}

    def applied(self, words: Sequence[str], kinds: Sequence[TokenType]) -> Anonymous:
        called = {**self._ctes(), **self._qualifiers()}
        self._check_others(called, kinds)
        named, dropped = self._aliases()
        if not (called or named or dropped):
            return Anonymous(words, frozenset())
        places = {token.start: place for place, token in enumerate(self.query.tokens)}
        result = list(words)
        for start, number in {**called, **named}.items():
            result[places[start]] = number
        for place in sorted((places[start] for start in dropped), reverse=True):
            del result[place - (kinds[place - 1] is TokenType.ALIAS) : place + 1]
        return Anonymous(result, self.names)

    def _aliases(self) -> tuple[dict[int, str], set[int]]:
        """Where aliases are defined: those replaced by a number, and those that can be dropped."""
        named, dropped = {}, set()
        for alias in self.query.nodes[exp.TableAlias]:
            if alias.this is None:
                continue
            if isinstance(alias.parent, exp.CTE) or alias.args.get("columns"):
                named[_start(alias.this)] = self.numbers[id(alias.parent)]
            else:
                dropped.add(_start(alias.this))
        return named, dropped

    def _ctes(self) -> dict[int, str]:
        """Where a CTE is read."""
        return {
            _start(table.this): self.numbers[id(cte)]
            for table in self.query.nodes[exp.Table]
            if (cte := cte_of(table)) is not None
        }

    def _qualifiers(self) -> dict[int, str]:
        """Where columns, and `*`, are qualified by their relation."""
        found = {}
        for column in self.query.nodes[exp.Column]:
            args = column.args
            if (first := args.get("catalog") or args.get("db") or args.get("table")) is None:
                continue
            name = first.name.lower()
            if name in self.names and (number := self._meant(column, name)) is not None:
                found[_start(first)] = number
        return found

    def _meant(self, column: Any, name: str) -> str | None:
        nearest = column.find_ancestor(exp.Select, exp.Subquery)
        key = id(nearest), name
        if key not in self._known:
            self._known[key] = self._seen_from(nearest, name)
        return self._known[key]

    def _seen_from(self, node: Any, name: str) -> str | None:
        """The relation that the name means in a query; it must be the only visible one of that name."""
        found, is_apart = None, False
        while node is not None and not (found and is_apart):
            if isinstance(node, exp.Select) and name in (visible := self._visible_in(node)):
                if found is not None or is_apart or visible[name] is None:
                    raise _Doubt
                found = visible[name]
            is_apart = is_apart or _is_apart(node)
            node = node.parent
        return found

    def _visible_in(self, select: Any) -> Mapping[str, str | None]:
        """None for a name that two relations share."""
        known = self._visible.get(id(select))
        if known is None:
            names: dict[str, str | None] = {}
            for source in sources_of(select):
                if name := visible_name(source):
                    names[name] = None if name in names else self.numbers.get(id(source))
            known = self._visible[id(select)] = names
        return known

    def _check_others(self, called: Mapping[int, str], kinds: Sequence[TokenType]) -> None:
        """Any other text that looks like a qualified name may be one that was not resolved."""
        known = called.keys() | {_start(table.parts[0]) for table in self.query.nodes[exp.Table] if _is_named(table)}
        for place, kind in enumerate(kinds):
            if kind is TokenType.DOT and place and (place == 1 or kinds[place - 2] is not TokenType.DOT):
                first = self.query.tokens[place - 1]
                if first.start not in known and first.text.lower() in self.names:
                    raise _Doubt


def _defined(query: ParsedQuery) -> Iterator[tuple[int, Any]]:
    """Every named relation, with the offset of its name."""
    for alias in query.nodes[exp.TableAlias]:
        if alias.this is not None:
            yield _start(alias.this), alias.parent
    for table in query.nodes[exp.Table]:
        if not table.alias and _is_named(table):
            yield _start(table.parts[-1]), table


def _is_apart(node: Any) -> bool:
    """A query in WITH or FROM does not see the relations beside it."""
    in_from = isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From | exp.Join)
    return in_from or isinstance(node, exp.CTE)


def _is_named(table: Any) -> bool:
    """Not a table function."""
    return isinstance(table.this, exp.Identifier)


def _start(name: Any) -> int:
    if not isinstance(name, exp.Identifier) or "start" not in name.meta:
        raise _Doubt
    return int(name.meta["start"])
