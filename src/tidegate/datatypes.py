"""Spark's column types as values, and columns made of them. Their text is the one that Spark itself writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from tidegate.names import quote

__all__ = [
    "ANY",
    "BIGINT",
    "BINARY",
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "FLOAT",
    "INT",
    "NOTHING_KNOWN",
    "SMALLINT",
    "STRING",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "TINYINT",
    "VARIANT",
    "VOID",
    "Column",
    "DataType",
    "Relation",
    "array",
    "decimal",
    "from_json",
    "map_of",
    "parse_type",
    "struct",
    "to_json",
    "unknown_type",
]


@dataclass(frozen=True)
class DataType:
    """`kind` is Spark's short name (`bigint`, `decimal`, `array`, `interval day to second`, …).

    `args`: precision and scale of a decimal; the element of an array; key and value of a map; (name, type) pairs of a
    struct. Kind `?` is a type that is not known: it goes with every other and gives no error. `ANY` is one without a
    name; `unknown_type` has the name under which its system knows it.
    """

    kind: str
    args: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return DataType, (self.kind, self.args)

    @cached_property
    def text(self) -> str:
        match self.kind:
            case "decimal":
                return f"decimal({self.args[0]},{self.args[1]})"
            case "array" | "map":
                return f"{self.kind}<{','.join(arg.text for arg in self.args)}>"
            case "struct":
                return f"struct<{','.join(f'{name}:{kind.text}' for name, kind in self.args)}>"
            case _:
                return self.kind

    @cached_property
    def sql(self) -> str:
        """As DDL and CAST take it, whatever the names of a struct's fields."""
        match self.kind:
            case "struct":
                return f"struct<{', '.join(f'{quote(name)}: {kind.sql}' for name, kind in self.args)}>"
            case "array" | "map":
                return f"{self.kind}<{', '.join(arg.sql for arg in self.args)}>"
            case "?" if self.args:
                return str(self.args[0])
            case _:
                return self.text

    @property
    def parts(self) -> tuple[DataType, ...]:
        """The types directly inside: of the fields, of the element, or of key and value."""
        match self.kind:
            case "struct":
                return tuple(kind for _, kind in self.args)
            case "array" | "map":
                return self.args
            case _:
                return ()

    def contains(self, *kinds: str) -> bool:
        """Whether it is, or has somewhere inside, a type of one of these kinds; `interval` stands for all intervals."""
        return self.kind.partition(" ")[0] in kinds or any(part.contains(*kinds) for part in self.parts)

    def map_parts(self, change: Callable[[DataType], DataType]) -> DataType:
        """The same type with each type directly inside changed; a type without parts itself."""
        if self.kind == "struct":
            return struct((name, change(kind)) for name, kind in self.args)
        return DataType(self.kind, tuple(map(change, self.args))) if self.parts else self

    @cached_property
    def known(self) -> bool:
        """Whether every part of it is."""
        return self.kind != "?" and all(part.known for part in self.parts)

    @property
    def is_nested(self) -> bool:
        return self.kind in ("array", "map", "struct")

    @property
    def is_numeric(self) -> bool:
        return self.kind in _NUMBERS

    @property
    def is_integral(self) -> bool:
        return self.kind in _INTEGERS

    @property
    def is_floating(self) -> bool:
        return self.kind in ("float", "double")

    @property
    def is_temporal(self) -> bool:
        return self.kind in ("date", "timestamp", "timestamp_ntz")

    @property
    def is_text(self) -> bool:
        return self.kind == "string"

    def field(self, name: str) -> DataType | None:
        """The type of a struct's field; case does not count."""
        return next((kind for own, kind in self.args if own.lower() == name.lower()), None)


_INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_NUMBERS = _INTEGERS | {"float", "double", "decimal"}

ANY = DataType("?")
VOID = DataType("void")
BOOLEAN = DataType("boolean")
TINYINT = DataType("tinyint")
SMALLINT = DataType("smallint")
INT = DataType("int")
BIGINT = DataType("bigint")
FLOAT = DataType("float")
DOUBLE = DataType("double")
STRING = DataType("string")
BINARY = DataType("binary")
DATE = DataType("date")
TIMESTAMP = DataType("timestamp")
TIMESTAMP_NTZ = DataType("timestamp_ntz")
VARIANT = DataType("variant")


@lru_cache(maxsize=1024)
def decimal(precision: int, scale: int) -> DataType:
    return DataType("decimal", (precision, scale))


def array(element: DataType) -> DataType:
    return DataType("array", (element,))


def map_of(key: DataType, value: DataType) -> DataType:
    return DataType("map", (key, value))


def struct(fields: Iterable[tuple[str, DataType]]) -> DataType:
    return DataType("struct", tuple(fields))


def unknown_type(name: str) -> DataType:
    return DataType("?", (name,))


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `type` ANY and `nullable` None where that is not known."""

    name: str
    type: DataType = ANY
    nullable: bool | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Column, (self.name, self.type, self.nullable)


@dataclass(frozen=True, slots=True)
class Relation:
    """The columns of a table or a query, in order. Not `complete`: there may be other, unknown columns."""

    columns: tuple[Column, ...] = ()
    complete: bool = True

    def find(self, name: str) -> Column | None:
        folded = name.lower()
        return next((column for column in self.columns if column.name.lower() == folded), None)


NOTHING_KNOWN = Relation(complete=False)

_ALIASES = {
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "bool": "boolean",
    "real": "float",
    "numeric": "decimal",
    "dec": "decimal",
    "null": "void",
    "timestamp_ltz": "timestamp",
}
_SIMPLE = {
    **{t.kind: t for t in (VOID, BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE)},
    **{t.kind: t for t in (TIMESTAMP, TIMESTAMP_NTZ, VARIANT)},
    "text": STRING,
}
_TOKEN = re.compile(r"`(?:[^`]|``)*`|\"[^\"]*\"|[<>(),:]|[^\s<>(),:`\"]+")


@lru_cache(maxsize=4096)
def parse_type(text: str) -> DataType | None:
    """Parse a type from DDL; None where Spark has no such type. `char` and `varchar` are strings."""
    tokens = _TOKEN.findall(text)
    try:
        kind, end = _parse(tokens, 0)
    except (IndexError, ValueError):
        return None
    return kind if end == len(tokens) else None


def _parse(tokens: list[str], at: int) -> tuple[DataType, int]:
    name = tokens[at].lower()
    name, at = _ALIASES.get(name, name), at + 1
    following = tokens[at] if at < len(tokens) else ""
    if name == "decimal":
        if following != "(":
            return decimal(10, 0), at
        close = tokens.index(")", at)
        numbers = [int(token) for token in tokens[at + 1 : close] if token != ","]
        precision, scale = (*numbers, 0)[:2]
        if not 0 < precision <= 38 or not 0 <= scale <= precision or len(numbers) > 2:
            raise ValueError(name)
        return decimal(precision, scale), close + 1
    if name in ("char", "varchar", "character"):
        if following != "(" or not tokens[at + 1].isdigit() or tokens[at + 2] != ")":
            raise ValueError(name)
        return STRING, at + 3
    if name in ("array", "map"):
        _expect(tokens, at, "<")
        first, at = _parse(tokens, at + 1)
        if name == "array":
            return array(first), _expect(tokens, at, ">")
        second, at = _parse(tokens, _expect(tokens, at, ","))
        return map_of(first, second), _expect(tokens, at, ">")
    if name == "struct":
        return _parse_struct(tokens, _expect(tokens, at, "<"))
    if name == "interval":
        words = [token.lower() for token in tokens[at:]]
        length = next((n for n in range(len(words), -1, -1) if all(w.isalpha() for w in words[:n])), 0)
        return DataType(" ".join(["interval", *words[:length]])), at + length
    if name not in _SIMPLE:
        raise ValueError(name)
    return _SIMPLE[name], at


def _parse_struct(tokens: list[str], at: int) -> tuple[DataType, int]:
    fields: list[tuple[str, DataType]] = []
    while tokens[at] != ">":
        name = tokens[at]
        name = name[1:-1].replace("``", "`") if name[0] in '`"' else name
        at = at + 2 if tokens[at + 1] == ":" else at + 1
        kind, at = _parse(tokens, at)
        while tokens[at].lower() in ("not", "null"):
            at += 1
        fields.append((name, kind))
        if tokens[at] == ",":
            at += 1
        elif tokens[at] != ">":
            raise ValueError(tokens[at])
    return struct(fields), at + 1


def _expect(tokens: list[str], at: int, token: str) -> int:
    if tokens[at] != token:
        raise ValueError(token)
    return at + 1


def from_json(kind: Any) -> DataType:
    """From Spark's JSON form; an unknown type keeps its name."""
    if isinstance(kind, str):
        return parse_type(kind) or (unknown_type(kind) if kind != "?" else ANY)
    match kind["type"]:
        case "struct":
            return struct((field["name"], from_json(field["type"])) for field in kind["fields"])
        case "array":
            return array(from_json(kind["elementType"]))
        case "map":
            return map_of(from_json(kind["keyType"]), from_json(kind["valueType"]))
        case "udt":
            return from_json(kind["sqlType"])
        case _:
            return ANY


_JSON_NAMES = {"int": "integer", "bigint": "long", "smallint": "short", "tinyint": "byte"}


def to_json(kind: DataType) -> Any:
    """Spark's JSON form, every part of it nullable."""
    match kind.kind:
        case "struct":
            fields = [{"name": n, "type": to_json(t), "nullable": True, "metadata": {}} for n, t in kind.args]
            return {"type": "struct", "fields": fields}
        case "array":
            return {"type": "array", "elementType": to_json(kind.args[0]), "containsNull": True}
        case "map":
            key, value = map(to_json, kind.args)
            return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
        case _:
            return _JSON_NAMES.get(kind.kind, kind.sql)
