"""A contract that is valid for its stages → the values that those stages work from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tidegate.contracts.connectors import CONNECTORS
from tidegate.contracts.element import Element
from tidegate.contracts.ingestion import (
    DEFAULT_NULL_VALUES,
    DeletionRules,
    Ingestion,
    QualityRule,
    SilverColumn,
    SilverRules,
    SourceRules,
)
from tidegate.contracts.model_contract import LOGICAL_TYPES, physical_rule
from tidegate.contracts.stage_contract import StageContract

__all__ = ["read_ingestion"]

_LIMITED = re.compile(r"\s*((?:var)?char)\s*\(\s*(\d+)\s*\)\s*", re.IGNORECASE)
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
        table=contract.table_name(source, "bronze_table"),
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
        table=contract.table_name(silver, "silver_table"),
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
        options=_options(column),
        logical_type=column.text("logicalType"),
    )


def _options(column: Element) -> Mapping[str, Any]:
    """In v3.0 an exclusive bound may be true: then `maximum` or `minimum` is meant without its value."""
    options = dict(column.part("logicalTypeOptions").value)
    for bound, inclusive in (("exclusiveMaximum", "maximum"), ("exclusiveMinimum", "minimum")):
        if isinstance(options.get(bound), bool) and options.pop(bound) and inclusive in options:
            options[bound] = options.pop(inclusive)
    return options


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
            rules.append(QualityRule(name, query, column, operators, rule.at("query")))
    return tuple(rules), tuple(others)


def _name(column: Element) -> str:
    return column.text("physicalName") or column.text("name") or ""


def _names(value: Any) -> tuple[str, ...]:
    values = value.split(",") if isinstance(value, str) else value or ()
    return tuple(str(name).strip() for name in values)
