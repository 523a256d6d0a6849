"""ROLLUP, CUBE and GROUPING SETS written out: one SELECT for each grouping, all together by UNION ALL.

In the SELECT of a grouping, what it does not group by is NULL outside of aggregates, and grouping() a number. The
grouping by nothing has a constant as its key, because like the others it gives no row where there is none to group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from sqlglot import Dialect, exp
from sqlglot.tokens import TokenType

from tidegate.compiler.analysis.functions.lookup import is_aggregate
from tidegate.compiler.analysis.scoping import NOT_FOUND, AnalysisContext
from tidegate.compiler.sql.script import Script
from tidegate.compiler.sql.sql_text import CannotRewriteError, expression_sql, key_of, name_text
from tidegate.datatypes import ANY, DataType

__all__ = ["write_out_groupings"]

_SPARK = Dialect.get_or_raise("spark")
_MOST = 16
_SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets)
_NOT_TAKEN = ("distinct", "hint", "qualify", "windows", "limit", "offset", "kind", "into")
_AFTER = (TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY)


def write_out_groupings(script: Script, names: AnalysisContext) -> str | None:
    """The query with one SELECT that has several groupings written out; None where none has."""
    select = next(iter(_with_several(script.tree)), None)
    if select is None:
        return None
    word = _word(select.args["group"])
    start, end = _span(script, select, word)
    parts = _Clauses(script.text[start:end], select, word)
    writer = _Writer(select, names, word)
    selects = [parts.select(writer, grouping) for grouping in writer.groupings()]
    written = "\nUNION ALL\n".join(selects)
    return f"{script.text[script.start : start]}{written}{script.text[end : script.end]}"


def _with_several(tree: Any) -> list[Any]:
    """The SELECTs with several groupings, inner ones first."""
    found = [select for select in tree.find_all(exp.Select) if _is_several(select.args.get("group"))]
    return found[::-1]


def _is_several(group: Any) -> bool:
    if group is None:
        return False
    marked = any(group.args.get(clause) for clause in ("rollup", "cube", "grouping_sets"))
    return marked or any(isinstance(part, _SEVERAL) for part in group.expressions)


def _word(group: Any) -> str:
    found = next(group.find_all(*_SEVERAL))
    return "GROUPING SETS" if isinstance(found, exp.GroupingSets) else str(found.key).upper()


def _span(script: Script, select: Any, word: str) -> tuple[int, int]:
    holder = select.parent
    if holder is None:
        return script.start, script.end
    if not isinstance(holder, exp.Subquery):
        raise CannotRewriteError(f"{word} beside another query")
    start, end = script.span(holder)
    return start + 1, end - 1


class _Clauses:
    """The text of a SELECT by its clauses."""

    def __init__(self, text: str, select: Any, word: str) -> None:
        if any(select.args.get(clause) for clause in _NOT_TAKEN):
            raise CannotRewriteError(word)
        self._text = text
        places: dict[TokenType, int] = {}
        commas: list[int] = []
        depth, end = 0, len(text)
        for token in _SPARK.tokenize(text):
            if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
                depth += 1
            elif token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET):
                depth -= 1
            elif depth == 0 and token.token_type in _AFTER:
                end = min(end, token.start)
            elif depth == 0 and token.token_type is TokenType.COMMA and TokenType.FROM not in places:
                commas.append(token.start)
            elif depth == 0:
                places.setdefault(token.token_type, token.start)
        found = [places.get(kind) for kind in (TokenType.SELECT, TokenType.FROM, TokenType.GROUP_BY)]
        if None in found or len(commas) + 1 != len(select.expressions):
            raise CannotRewriteError(word)
        begin, self._from, self._group = (place for place in found if place is not None)
        self._having = text[places[TokenType.HAVING] : end].strip() if TokenType.HAVING in places else ""
        bounds = [begin + len("SELECT"), *(comma + 1 for comma in commas)]
        ends = [*commas, self._from]
        self._listed = [text[a:b].strip() for a, b in zip(bounds, ends, strict=True)]

    def select(self, writer: _Writer, grouping: Sequence[_Key]) -> str:
        comma = ",\n" if any("--" in text for text in self._listed) else ", "  # a comment ends with its line
        listed = comma.join(writer.listed(place, text, grouping) for place, text in enumerate(self._listed))
        keys = ", ".join(dict.fromkeys(key.text for key in grouping)) or "CAST(NULL AS STRING)"
        having = writer.having(self._having, grouping)
        body = self._text[self._from : self._group].rstrip()
        return f"SELECT {listed}\n{body}\nGROUP BY {keys}{having}"


@dataclass(frozen=True, slots=True)
class _Key:
    """One expression of GROUP BY: `identity` is the same for the same."""

    identity: str
    text: str


class _Writer:
    def __init__(self, select: Any, names: AnalysisContext, word: str) -> None:
        self._select, self._names, self._word = select, names, word
        result = names.results.get(id(select))
        attributes = zip(result.nodes, result.attributes, strict=True) if result else ()
        self._types = {id(node): attribute.type for node, attribute in attributes}
        self._sets = list(self._all())
        if not 0 < len(self._sets) <= _MOST:
            raise CannotRewriteError(f"{word} of {len(self._sets)} groupings")
        self._keys = list(dict.fromkeys(key.identity for grouping in self._sets for key in grouping))
        self._order = list(dict.fromkeys(key.identity for part in self._parts() for s in part for key in s))

    def groupings(self) -> Sequence[tuple[_Key, ...]]:
        return self._sets

    def listed(self, place: int, text: str, grouping: Sequence[_Key]) -> str:
        projection = self._select.expressions[place]
        tree = projection.unalias()
        made = self._in(tree, grouping, f"projection {place}")
        if made is tree:
            return text
        name = projection.alias or (projection.name if isinstance(projection, exp.Column) else "")
        if not name:
            raise CannotRewriteError(f"{self._word} with a column without a name")
        if isinstance(made, exp.Null):
            made = _null(self._types.get(id(projection), ANY))
        return f"{expression_sql(made)} AS {name_text(name)}"

    def having(self, text: str, grouping: Sequence[_Key]) -> str:
        if not text:
            return ""
        tree = self._select.args["having"].this
        made = self._in(tree, grouping, "")
        return f"\n{text}" if made is tree else f"\nHAVING {expression_sql(made)}"

    def _all(self) -> Iterator[tuple[_Key, ...]]:
        for chosen in product(*self._parts()):
            keys = tuple(key for part in chosen for key in part)
            if len({key.identity for key in keys}) < len(keys):
                raise CannotRewriteError(f"{self._word} with the same twice")
            yield keys

    def _parts(self) -> list[list[tuple[_Key, ...]]]:
        """The groupings of each part of GROUP BY; all combinations of them are those of the query."""
        group = self._select.args["group"]
        if group.args.get("all"):
            raise CannotRewriteError(self._word)
        for clause in ("rollup", "cube", "grouping_sets"):
            for marked in group.args.get(clause) or ():
                parts = marked.expressions or group.expressions
                return [self._several(marked, parts)]
        return [
            self._several(part, part.expressions) if isinstance(part, _SEVERAL) else [self._one(part)]
            for part in group.expressions
        ]

    def _several(self, node: Any, parts: Sequence[Any]) -> list[tuple[_Key, ...]]:
        if isinstance(node, exp.GroupingSets):
            nested = [self._several(p, p.expressions) if isinstance(p, _SEVERAL) else [self._one(p)] for p in parts]
            return [grouping for found in nested for grouping in found]
        units = [self._one(part) for part in parts]
        if isinstance(node, exp.Rollup):
            chosen = [units[:n] for n in range(len(units), -1, -1)]
        else:
            if len(units) > 4:
                raise CannotRewriteError(f"{self._word} of {2 ** len(units)} groupings")
            sizes = range(len(units), -1, -1)
            chosen = [list(some) for n in sizes for some in combinations(units, n)]
        return [tuple(key for unit in some for key in unit) for some in chosen]

    def _one(self, part: Any) -> tuple[_Key, ...]:
        """What stands for one: a column, an expression, a position, or several in parentheses."""
        if isinstance(part, exp.Tuple):
            return tuple(key for inner in part.expressions for key in self._one(inner))
        part = part.unnest()
        if isinstance(part, exp.Literal) and not part.is_string:
            place = int(part.name) - 1
            if not 0 <= place < len(self._select.expressions):
                raise CannotRewriteError(self._word)
            return (_Key(f"projection {place}", part.name),)
        return (_Key(self._identity(part), expression_sql(part)),)

    def _identity(self, tree: Any) -> str:
        if not isinstance(tree, exp.Column):
            return f"expression {key_of(self._named_alike(tree))}"
        resolved = self._names.columns.get(id(tree), NOT_FOUND)
        if resolved.attribute is None or not resolved.whole:
            raise CannotRewriteError(self._word)
        if resolved.attribute.item is None:
            for place, projection in enumerate(self._select.expressions):
                if projection.alias.lower() == tree.name.lower():
                    return f"projection {place}"
            raise CannotRewriteError(self._word)
        return f"column {resolved.attribute.identity}"

    def _named_alike(self, tree: Any) -> Any:
        """With each column by what it is, because one may be named in two ways."""
        copy = tree.copy()
        for node, twin in list(zip(tree.walk(), copy.walk(), strict=True)):
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                twin.replace(exp.to_identifier(self._identity(node)))
        return copy

    def _in(self, tree: Any, grouping: Sequence[_Key], own: str) -> Any:
        """An expression of the result as it is for a grouping; the same object where nothing is different."""
        known, inside = set(self._keys), {key.identity for key in grouping}
        if own in known and own not in inside:
            return exp.Null()
        if own in known or isinstance(tree, exp.Literal):
            return tree
        if isinstance(tree, exp.Grouping | exp.GroupingId):
            return self._grouping(tree, inside)
        if isinstance(tree, exp.Query | exp.Window | exp.Star | exp.Lambda):
            raise CannotRewriteError(
                f"{self._word} with {'a window' if isinstance(tree, exp.Window) else 'a subquery'}"
            )
        if is_aggregate(tree) or isinstance(tree, exp.Filter):
            return tree
        identity = self._identity(tree)
        if identity in known:
            return tree if identity in inside else self._null_of(tree)
        if isinstance(tree, exp.Column | exp.Dot):
            raise CannotRewriteError(f"{self._word} with {tree.sql('spark')}, which is not grouped by")
        copy = tree.copy()
        changed = False
        for key, child in tree.args.items():
            if isinstance(child, exp.Expr):
                made = self._in(child, grouping, "")
                changed = changed or made is not child
                copy.set(key, made if made is not child else child.copy())
            elif isinstance(child, list):
                parts = [self._in(c, grouping, "") if isinstance(c, exp.Expr) else c for c in child]
                changed = changed or any(one is not two for one, two in zip(parts, child, strict=True))
                copy.set(key, [part.copy() if isinstance(part, exp.Expr) else part for part in parts])
        return copy if changed else tree

    def _null_of(self, tree: Any) -> Any:
        resolved = self._names.columns.get(id(tree), NOT_FOUND)
        return _null(resolved.typed.type)

    def _grouping(self, tree: Any, inside: set[str]) -> Any:
        asked = [self._identity(part.unnest()) for part in tree.expressions] or self._order
        if not set(asked) <= set(self._keys):
            raise CannotRewriteError(self._word)
        number = 0
        for identity in asked:
            number = 2 * number + (identity not in inside)
        kind = "tinyint" if isinstance(tree, exp.Grouping) else "bigint"
        return exp.cast(exp.Literal.number(number), kind, dialect="spark")


def _null(kind: DataType) -> Any:
    return exp.cast(exp.Null(), kind.sql, dialect="spark") if kind.known and not kind.is_nested else exp.Null()
