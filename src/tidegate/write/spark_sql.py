"""How a value becomes one of another type, and how values are compared: SQL for each of Spark's types."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime

from tidegate.datatypes import DataType
from tidegate.names import literal, quote
from tidegate.widening import is_alterable

__all__ = [
    "alterations",
    "any_of",
    "comparable",
    "conversion",
    "differ",
    "literal",
    "negative_zero",
    "null_safe_join",
    "quote",
    "timestamp",
    "unquote",
]


def unquote(name: str) -> str:
    name = name.strip()
    return name[1:-1].replace("``", "`") if len(name) > 2 and name[0] == name[-1] == "`" else name


def timestamp(moment: datetime, kind: str = "timestamp") -> str:
    """A literal of the type `timestamp`, `timestamp_ntz` or `date` (rounded up: no date before `moment` is meant).

    A moment without a time zone is in UTC.
    """
    utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    if kind == "date":
        day = utc.date() if utc.timetz() == _MIDNIGHT else date.fromordinal(utc.toordinal() + 1)
        return f"DATE '{day.isoformat()}'"
    text = utc.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    return f"TIMESTAMP_NTZ '{text}'" if kind == "timestamp_ntz" else f"TIMESTAMP '{text}+00:00'"


_MIDNIGHT = datetime(2000, 1, 1, tzinfo=UTC).timetz()


def any_of(conditions: Iterable[str]) -> str:
    return " OR ".join(conditions) or "false"


def null_safe_join(left: str, right: str, names: Iterable[str]) -> str:
    return " AND ".join(f"{left}.{quote(name)} <=> {right}.{quote(name)}" for name in names)


_FLOATING = ("float", "double")


def alterations(path: str, before: DataType, after: DataType) -> list[str] | None:
    """The clauses after ALTER TABLE that turn one type into a wider one in place; None: the rows must be rewritten."""
    if before == after:
        return []
    if not (before.is_nested and after.is_nested):
        return [f"ALTER COLUMN {path} TYPE {after.sql}"] if is_alterable(before, after) else None
    match before.kind:
        case "array":
            return alterations(f"{path}.element", before.args[0], after.args[0])
        case "map":
            return alterations(f"{path}.value", before.args[1], after.args[1])
        case _:
            had = dict(before.args)
            clauses = []
            for name, kind in after.args:
                inner = f"{path}.{quote(name)}"
                if name not in had:
                    clauses.append(f"ADD COLUMN {inner} {kind.sql}")
                    continue
                deeper = alterations(inner, had[name], kind)
                if deeper is None:
                    return None
                clauses += deeper
            return clauses


def conversion(value: str, before: DataType, after: DataType, depth: int = 0) -> str:
    """SQL that gives `value` in a type it fits in; fields of a struct go by name, missing ones are NULL."""
    if before == after:
        return value
    if not (before.is_nested and after.is_nested):
        return f"CAST({value} AS {after.sql})"
    item = f"item{depth}"
    match before.kind:
        case "array":
            inner = conversion(item, before.args[0], after.args[0], depth + 1)
            return f"transform({value}, {item} -> {inner})"
        case "map":
            inner = conversion(item, before.args[1], after.args[1], depth + 1)
            return f"transform_values({value}, (key{depth}, {item}) -> {inner})"
        case _:
            sources = {name.lower(): (name, kind) for name, kind in before.args}
            parts = []
            for name, kind in after.args:
                source = sources.get(name.lower())
                parts.append(literal(name))
                parts.append(
                    f"CAST(NULL AS {kind.sql})"
                    if source is None
                    else conversion(f"{value}.{quote(source[0])}", source[1], kind, depth + 1)
                )
            return f"IF({value} IS NULL, NULL, named_struct({', '.join(parts)}))"


def comparable(value: str, kind: DataType, depth: int = 0, *, zeros: bool = True) -> str:
    """SQL that Spark can order and test with `<=>`, equal exactly where the stored values are.

    Maps have neither order nor equality, and to Spark -0.0 equals 0.0, though they differ as text. `zeros` False: they
    are equal here too.
    """
    if not kind.contains("map", "variant", *(_FLOATING if zeros else ())):
        return value
    item = f"item{depth}"
    match kind.kind:
        case "variant":
            return f"concat(schema_of_variant({value}), ' ', to_json({value}))"
        case "array":
            return f"transform({value}, {item} -> {comparable(item, kind.args[0], depth + 1, zeros=zeros)})"
        case "map":
            key = comparable(f"{item}.key", kind.args[0], depth + 1, zeros=zeros)
            inner = comparable(f"{item}.value", kind.args[1], depth + 1, zeros=zeros)
            return f"array_sort(transform(map_entries({value}), {item} -> struct({key}, {inner})))"
        case "struct":
            parts = [comparable(f"{value}.{quote(name)}", inner, depth, zeros=zeros) for name, inner in kind.args]
            return f"IF({value} IS NULL, NULL, struct({', '.join(parts)}))"
        case _:
            return f"struct({value}, {negative_zero(value)})"


def differ(one: str, other: str, kind: DataType) -> str:
    """SQL that is true where two values of a type are not the same, never NULL."""
    if not kind.is_floating:
        return f"NOT ({comparable(one, kind)} <=> {comparable(other, kind)})"
    return f"NOT ({one} <=> {other} AND {negative_zero(one)} = {negative_zero(other)})"


def negative_zero(value: str) -> str:
    """True for -0.0, false for anything else. An AND would let Spark put 0.0 in place of the value."""
    return f"IF({value} = 0D, CAST({value} AS string) = '-0.0', false)"
