"""The promises of one table, each with the place in the contract file where it is made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tidegate.contracts.ingestion import QualityRule, TableRules
from tidegate.datatypes import DataType, decimal, parse_type
from tidegate.problems import Place
from tidegate.widening import stored_type

__all__ = [
    "LOGICAL_TYPES",
    "ColumnRule",
    "ContractTerm",
    "ModelContract",
    "RowRules",
    "TypeRule",
    "logical_rule",
    "physical_rule",
    "type_rule",
]


_BARE_DECIMAL = re.compile(r"(?<![\w`])(?:decimal|numeric|dec)(?=\s*(?:[>,]|$|not\b))", re.IGNORECASE)
_AS_WRITTEN_BARE = decimal(10, 0)
_INTEGERS = ("tinyint", "smallint", "int", "bigint")

# What ODCS calls a type → the kinds that Spark has for it. Spark has none for the time of a day, and vectors are
# arrays of whatever number the model likes, so these two ask for nothing.
LOGICAL_TYPES: dict[str, tuple[str, ...]] = {
    "string": ("string",),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamp_ntz"),
    "time": (),
    "number": (*_INTEGERS, "float", "double", "decimal"),
    "integer": _INTEGERS,
    "object": ("struct", "variant"),
    "array": ("array",),
    "boolean": ("boolean",),
    "map": ("map",),
    "vector": (),
}

# Contracts are often written with the names of the database that the data comes from.
_OTHER_SPELLINGS = {
    "varchar": "string",
    "char": "string",
    "nvarchar": "string",
    "character varying": "string",
    "int32": "int",
    "int64": "bigint",
    "float32": "float",
    "float64": "double",
    "double precision": "double",
    "number": "decimal",
    "bytes": "binary",
    "timestamptz": "timestamp",
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp_ntz",
}


@dataclass(frozen=True, slots=True)
class TypeRule:
    """`text`: as the contract writes it. Either one `type` (`any_decimal`: whatever precision), or any of `kinds`."""

    text: str
    type: DataType | None = None
    any_decimal: bool = False
    kinds: tuple[str, ...] = ()

    def accepts(self, found: DataType) -> bool:
        """A type that is not known is accepted, and so is a column that is never anything but NULL."""
        if self.type is not None:
            return self._matches(self.type, found)
        return not self.kinds or found.kind in (*self.kinds, "?", "void")

    def _matches(self, wanted: DataType, found: DataType) -> bool:
        if found.kind in ("?", "void") or wanted in (found, stored_type(found)):
            return True
        if wanted.kind != found.kind:
            return False
        match wanted.kind:
            case "decimal":
                return self.any_decimal and wanted == _AS_WRITTEN_BARE
            case "array" | "map":
                return all(self._matches(a, b) for a, b in zip(wanted.args, found.args, strict=True))
            case "struct":
                if len(wanted.args) != len(found.args):
                    return False
                pairs = zip(wanted.args, found.args, strict=True)
                return all(a.lower() == b.lower() and self._matches(kind, other) for (a, kind), (b, other) in pairs)
            case _:
                return False


def type_rule(text: str) -> TypeRule | None:
    """A type as Spark's DDL writes it; `decimal` alone is any decimal. None where that is no type."""
    kind = parse_type(text)
    if kind is None:
        return None
    return TypeRule(text.strip(), kind, any_decimal=_BARE_DECIMAL.search(text) is not None)


def physical_rule(text: str) -> TypeRule | None:
    """ODCS `physicalType`: Spark's spelling, or a well-known one of other databases."""
    rule = type_rule(_OTHER_SPELLINGS.get(" ".join(text.lower().split()), text))
    return None if rule is None else TypeRule(text.strip(), rule.type, rule.any_decimal)


def logical_rule(name: str) -> TypeRule | None:
    """ODCS `logicalType`; None where the standard has no such type."""
    return TypeRule(name, kinds=LOGICAL_TYPES[name]) if name in LOGICAL_TYPES else None


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ContractTerm(Generic[T]):
    """Something that a contract says, and where it says it."""

    value: T
    place: Place


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """What a contract says of one column; None: nothing. `nullable` False: it never holds NULL."""

    name: str
    place: Place
    type: ContractTerm[TypeRule] | None = None
    nullable: ContractTerm[bool] | None = None


@dataclass(frozen=True, slots=True)
class RowRules:
    """What a contract asks of the rows of a table: a key, values of columns, quality rules."""

    table: TableRules
    quality: tuple[ContractTerm[QualityRule], ...] = ()
    not_evaluated: tuple[str, ...] = ()
    """Quality rules of other types than sql."""

    places: Mapping[tuple[str, str], Place] = field(default_factory=dict)
    """Where the contract says it, by column and rule."""


@dataclass(frozen=True, slots=True)
class ModelContract:
    """`required` columns must be there; `protected` ones may not be removed. `columns` hold for those that are there.

    Case does not count in names of columns; no list has a name twice.
    """

    file: str
    required: tuple[ContractTerm[str], ...] = ()
    protected: tuple[ContractTerm[str], ...] = ()
    columns: tuple[ColumnRule, ...] = ()
    rows: RowRules | None = None
