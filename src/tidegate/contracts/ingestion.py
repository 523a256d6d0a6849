"""What a contract asks of each stage of the data, as values: the source, its landing zone and bronze, and silver.

`read_ingestion` gives them for a contract that is valid for its stages; the rooms that read, validate and write rows
work from these values and never from the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from blake3 import blake3

from tidegate.contracts.connectors import CONNECTORS, Connector
from tidegate.contracts.element import Element
from tidegate.contracts.model_contract import LOGICAL_TYPES, physical_rule
from tidegate.contracts.stage_contract import StageContract

__all__ = [
    "DEFAULT_NULL_VALUES",
    "DeletionRules",
    "Ingestion",
    "QualityRule",
    "SilverColumn",
    "SilverRules",
    "SourceRules",
    "read_ingestion",
]

DEFAULT_NULL_VALUES = ("", "null", "NULL", "none", "None", "N/A", "n/a", "NaN", "nan")
"""Texts that mean that there is no value, unless the contract's `null_values` names others."""

_DEFAULT_TYPES = {
    "string": "string",
    "date": "date",
    "timestamp": "timestamp",
    "time": "string",
    "number": "decimal(38,10)",
    "integer": "bigint",
    "object": "string",
    "array": "array<string>",
    "boolean": "boolean",
    "map": "map<string,string>",
    "vector": "array<float>",
}
"""The type of a column that has only a logicalType."""


_LIMITED = re.compile(r"\s*((?:var)?char)\s*\(\s*(\d+)\s*\)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SourceRules:
    """The source object: where rows come from, and the bronze table that they are added to."""

    name: str
    """Of the object."""

    table: str
    """The name of the bronze table, without its layer."""

    connector: Connector
    system: str
    source: str
    """The `[sources.NAME]` with the connection and its secrets."""

    zone: str
    """`landing_directory`: the landing zone, relative to `[landing] root`."""

    format: str
    full_snapshot: bool
    """Every read is complete; else only what is new is read."""

    columns: tuple[str, ...] = ()
    """The names of the columns as the source delivers them; it may deliver others."""

    physical_name: str | None = None
    """What the source itself calls the object, such as `dbo.Orders`."""

    endpoint: str | None = None
    content_path: str = ""
    """The path to the records in a document of JSON, such as `data.items`; empty: the document is the records."""

    multiline: bool | None = None
    batched: bool = False
    filtering_column: str | None = None
    ordering_columns: tuple[str, ...] = ()
    batch_size: int = 100_000
    properties: Mapping[str, Any] = field(default_factory=dict)
    """Every custom property by its name, for connectors with settings of their own."""


@dataclass(frozen=True, slots=True)
class SilverColumn:
    name: str
    type: str
    """Spark's type, as DDL; `varchar(3)` and `char(3)` say how long the strings may be."""

    origin: tuple[str, ...] = ()
    """The column of bronze that it comes from, and the path inside its JSON; empty: it starts as NULL."""

    transform: str | None = None
    """Spark SQL over the silver columns, which gives text."""

    required: bool = False
    primary_key: bool = False
    unique: bool = False
    allowed: tuple[Any, ...] | None = None
    """The values of its enum."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """`logicalTypeOptions`: bounds, lengths, pattern, format and the like."""

    logical_type: str | None = None


@dataclass(frozen=True, slots=True)
class DeletionRules:
    inferred: bool
    """A key that a complete snapshot lacks is deleted; else rows themselves say that their key is deleted."""

    soft: bool
    """Deleted rows are flagged; else they are removed."""

    indicator_column: str | None = None
    """A silver column, or a column of bronze, whose value says that the row is a deletion."""

    indicator_values: tuple[Any, ...] = ()
    max_ratio: float = 0.5
    """The largest share of the live keys that one run may delete by inference."""


@dataclass(frozen=True, slots=True)
class QualityRule:
    """A quality rule of type sql. Other types are not evaluated."""

    name: str
    query: str
    """A condition that is true for rows that fail, a SELECT of failing rows, or a SELECT of one number."""

    column: str | None = None
    """The column whose rule it is; None: the object's."""

    operators: Mapping[str, Any] = field(default_factory=dict)
    """`mustBe`, `mustBeGreaterThan` and the like."""


@dataclass(frozen=True, slots=True)
class SilverRules:
    name: str
    """Of the object."""

    table: str
    """The name of the silver table, without its layer."""

    columns: tuple[SilverColumn, ...]
    key: tuple[str, ...]
    """The columns of the primary key, in order."""

    strategy: str
    """current_state, history, append or snapshot."""

    deletion: DeletionRules | None = None
    null_values: tuple[str, ...] = DEFAULT_NULL_VALUES
    quality: tuple[QualityRule, ...] = ()
    not_evaluated: tuple[str, ...] = ()
    """Quality rules of other types than sql."""

    partition_column: str | None = None
    """The first column that is declared as `partitioned`."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """A contract that drives data from a source to silver."""

    id: str
    version: str
    source: SourceRules
    silver: SilverRules

    @property
    def digest(self) -> str:
        """Another one where rows could get other values or be judged otherwise."""
        text = json.dumps([repr(self.source), repr(self.silver)])
        return str(blake3(text.encode()).hexdigest(length=16))


def read_ingestion(contract: StageContract) -> Ingestion | None:
    """None where the contract has no connector. Call it only for a contract that is valid for landing and silver."""
    if contract.source is None or contract.connector is None or contract.silver is None:
        return None
    root = contract.root
    return Ingestion(
        id=root.text("id") or "",
        version=root.text("version") or "",
        source=_source(contract, contract.source),
        silver=_silver(contract, contract.source, contract.silver),
    )


def _source(contract: StageContract, source: Element) -> SourceRules:
    connector = contract.connector or CONNECTORS["landing_push"]
    system = contract.text("source_system") or ""
    properties = {name: entry.value for name, entry in (*contract.root.custom.items(), *source.custom.items())}
    return SourceRules(
        name=source.text("name") or "",
        table=_table(contract, source, "bronze_table"),
        connector=connector,
        system=system,
        source=contract.text("source") or system,
        zone=(contract.text("landing_directory") or "").strip("/"),
        format=contract.text("landing_file_format") or "",
        full_snapshot=contract.is_set("ingestion_read_strategy", "full_snapshot"),
        columns=tuple(_name(column) for column in source.items("properties")),
        physical_name=source.text("physicalName"),
        endpoint=contract.text("endpoint"),
        content_path=contract.text("content_path") or "",
        multiline=properties.get("json_multiline"),
        batched=contract.is_set("sql_extraction_mode", "batched"),
        filtering_column=contract.text("ingestion_filtering_column"),
        ordering_columns=_names(properties.get("ingestion_ordering_columns")),
        batch_size=properties.get("batch_size") or 100_000,
        properties=properties,
    )


def _silver(contract: StageContract, source: Element, silver: Element) -> SilverRules:
    columns = list(silver.items("properties"))
    keys = sorted(
        (column for column in columns if column.flag("primaryKey")),
        key=lambda column: column.number("primaryKeyPosition") or 0,
    )
    null_values = contract.lookup("null_values", silver)
    partitions = [_name(column) for column in columns if column.flag("partitioned")]
    rules, others = _quality(silver, columns)
    return SilverRules(
        name=silver.text("name") or "",
        table=_table(contract, silver, "silver_table"),
        columns=tuple(_column(source, column) for column in columns),
        key=tuple(map(_name, keys)),
        strategy=contract.text("silver_write_strategy", silver) or ("current_state" if keys else "append"),
        deletion=_deletion(contract, silver),
        null_values=DEFAULT_NULL_VALUES if null_values is None else tuple(map(str, null_values.value)),
        quality=rules,
        not_evaluated=others,
        partition_column=partitions[0] if partitions else None,
    )


def _column(source: Element, column: Element) -> SilverColumn:
    allowed = _allowed(column)
    return SilverColumn(
        name=_name(column),
        type=_type(column),
        origin=_origin(source, column),
        transform=column.text("transformLogic"),
        required=column.flag("required") is True,
        primary_key=column.flag("primaryKey") is True,
        unique=column.flag("unique") is True,
        allowed=allowed,
        options=column.part("logicalTypeOptions").value,
        logical_type=column.text("logicalType"),
    )


def _type(column: Element) -> str:
    """A physicalType in Spark's spelling; else the type that stands for the logicalType. varchar and char keep their
    length, which values must not exceed; tables have them as strings."""
    physical = column.text("physicalType")
    limited = _LIMITED.fullmatch(physical or "")
    if limited is not None:
        return f"{limited[1].lower()}({limited[2]})"
    rule = physical_rule(physical) if physical else None
    if rule is not None and rule.type is not None:
        return "decimal(38,10)" if rule.any_decimal else rule.type.text
    logical = column.text("logicalType") or "string"
    assert logical in LOGICAL_TYPES
    return _DEFAULT_TYPES[logical]


def _origin(source: Element, column: Element) -> tuple[str, ...]:
    origins, name = column.texts("transformSourceObjects"), _name(column)
    known_columns = {known.lower(): known for known in map(_name, source.items("properties"))}
    if not origins:
        is_there = not known_columns or name.lower() in known_columns
        return (known_columns.get(name.lower(), name),) if is_there else ()
    if len(origins) > 1:
        return ()
    steps = tuple(origins[0].split("."))
    owners = {(source.text(key) or "").lower() for key in ("name", "physicalName")} - {""}
    for start in range(1, len(steps)):
        if ".".join(steps[:start]).lower() in owners:
            steps = steps[start:]
            break
    return (known_columns.get(steps[0].lower(), steps[0]), *steps[1:])


def _allowed(column: Element) -> tuple[Any, ...] | None:
    """`enum`, then that of logicalTypeOptions, then the custom property, then a quality rule's valid values."""
    entries = column.value.get("enum")
    if isinstance(entries, list) and entries:
        return tuple(entry.get("value") if isinstance(entry, dict) else entry for entry in entries)
    options = column.part("logicalTypeOptions").value.get("enum")
    if isinstance(options, list) and options:
        return tuple(options)
    custom = column.custom.get("enum")
    if custom is not None and isinstance(custom.value, list) and custom.value:
        return tuple(custom.value)
    for rule in column.items("quality"):
        values = rule.value.get("validValues") or rule.part("arguments").value.get("validValues")
        if isinstance(values, list) and values:
            return tuple(values)
    return None


def _deletion(contract: StageContract, silver: Element) -> DeletionRules | None:
    if not contract.is_set("deletion_enabled", True, silver):
        return None
    ratio = contract.lookup("deletion_max_ratio", silver)
    values = contract.lookup("deletion_indicator_values", silver)
    return DeletionRules(
        inferred=contract.text("deletion_detection", silver) == "inferred",
        soft=contract.text("deletion_mode", silver) == "soft",
        indicator_column=contract.text("deletion_indicator_column", silver),
        indicator_values=tuple(values.value) if values is not None and isinstance(values.value, list) else (),
        max_ratio=0.5 if ratio is None else float(ratio.value),
    )


def _quality(silver: Element, columns: list[Element]) -> tuple[tuple[QualityRule, ...], tuple[str, ...]]:
    """The rules of type sql, and the names of the others."""
    rules, others = [], []
    for part, column in [(silver, None), *((column, _name(column)) for column in columns)]:
        for number, rule in enumerate(part.items("quality"), 1):
            metric = rule.text("metric") or rule.text("rule")
            name = rule.text("name") or rule.text("id") or metric or f"{column or silver.text('name')} quality {number}"
            query = rule.text("query")
            if rule.text("type") != "sql" or query is None:
                others.append(name)
                continue
            operators = {
                key: value for key, value in rule.value.items() if key.startswith("mustBe") or key == "mustNotBe"
            }
            rules.append(QualityRule(name, query, column, operators))
    return tuple(rules), tuple(others)


def _table(contract: StageContract, table: Element, property_name: str) -> str:
    name = contract.text(property_name, table) or table.text("physicalName") or table.text("name") or ""
    return name.rpartition(".")[2]


def _name(column: Element) -> str:
    return column.text("physicalName") or column.text("name") or ""


def _names(value: Any) -> tuple[str, ...]:
    values = value.split(",") if isinstance(value, str) else value or ()
    return tuple(str(name).strip() for name in values)
