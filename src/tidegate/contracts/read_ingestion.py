"""A contract that is valid for its stages → the values that those stages work from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tidegate.contracts.column_constraints import allowed_values, options_of, unevaluated
from tidegate.contracts.column_types import nested_columns, silver_type
from tidegate.contracts.connectors import CONNECTORS
from tidegate.contracts.element import Element
from tidegate.contracts.ingestion import (
    DEFAULT_NULL_VALUES,
    DeleteIndicator,
    DeletionRules,
    Ingestion,
    QualityRule,
    SilverColumn,
    SilverRules,
    SourceRules,
    default_strategy,
)
from tidegate.contracts.source_columns import source_column, source_path
from tidegate.contracts.stage_contract import StageContract

__all__ = ["read_column", "read_ingestion", "read_key", "read_quality"]


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
        columns=tuple(column.column_name for column in source.items("properties")),
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
    keys = read_key(columns)
    null_values = contract.lookup("null_values", silver)
    partitions = [column.column_name for column in columns if column.flag("partitioned")]
    rules = list(read_quality(silver))
    others = [f"quality rule {name}" for name, rule in rules if rule is None]
    return SilverRules(
        name=silver.text("name") or "",
        table=contract.table_name(silver, "silver_table"),
        columns=tuple(
            replace(read_column(column), origin=_origin(source, column), transform=column.text("transformLogic"))
            for column in columns
        ),
        key=keys,
        strategy=contract.text("silver_write_strategy", silver) or default_strategy(bool(keys)),
        deletion=_deletion(contract, silver),
        indicator=_indicator(contract, silver),
        null_values=DEFAULT_NULL_VALUES if null_values is None else tuple(null_values.value),
        quality=tuple(rule for _, rule in rules if rule is not None),
        not_evaluated=(*others, *(text for column in columns for text in unevaluated(column))),
        partition_column=partitions[0] if partitions else None,
    )


def read_key(columns: Sequence[Element]) -> tuple[str, ...]:
    keys = [column for column in columns if column.flag("primaryKey")]
    ordered = sorted(keys, key=lambda column: column.number("primaryKeyPosition") or 0)
    return tuple(column.column_name for column in ordered)


def read_column(column: Element) -> SilverColumn:
    """Without where its values come from."""
    return replace(
        _part(column),
        primary_key=column.flag("primaryKey") is True,
        unique=column.flag("unique") is True,
    )


def _part(column: Element) -> SilverColumn:
    """A column, or what is inside one."""
    properties, items = nested_columns(column)
    kind = silver_type(column)
    assert kind is not None
    return SilverColumn(
        name=column.column_name,
        type=kind,
        required=column.flag("required") is True,
        allowed=allowed_values(column)[0],
        options=options_of(column),
        logical_type=column.text("logicalType"),
        parts=tuple(map(_part, properties)),
        items=None if items is None else _part(items),
    )


def _origin(source: Element, column: Element) -> tuple[str, ...]:
    origins = column.texts("transformSourceObjects")
    if not origins:
        own = source_column(source, column.column_name)
        return () if own is None else (own,)
    return (source_path(source, origins[0]) or ()) if len(origins) == 1 else ()


def _deletion(contract: StageContract, silver: Element) -> DeletionRules | None:
    if not contract.is_set("deletion_enabled", True, silver):
        return None
    ratio = contract.lookup("deletion_max_ratio", silver)
    return DeletionRules(
        inferred=contract.text("deletion_detection", silver) == "inferred",
        soft=contract.text("deletion_mode", silver) == "soft",
        max_ratio=0.5 if ratio is None else float(ratio.value),
    )


def _indicator(contract: StageContract, silver: Element) -> DeleteIndicator | None:
    column = contract.text("deletion_indicator_column", silver)
    values = contract.lookup("deletion_indicator_values", silver)
    return DeleteIndicator(column, tuple(values.value)) if column and values is not None else None


def read_quality(table: Element) -> Iterator[tuple[str, QualityRule | None]]:
    """Each quality rule with its name; None for those of other types than sql."""
    for part, column in [(table, None), *((column, column.column_name) for column in table.items("properties"))]:
        for number, rule in enumerate(part.items("quality"), 1):
            metric = rule.text("metric") or rule.text("rule")
            name = rule.text("name") or rule.text("id") or metric or f"{column or table.text('name')} quality {number}"
            query = rule.text("query")
            if rule.text("type") != "sql" or query is None:
                yield name, None
                continue
            operators = {
                key: value for key, value in rule.value.items() if key.startswith("mustBe") or key == "mustNotBe"
            }
            yield name, QualityRule(name, query, column, operators, rule.at("query"))


def _names(value: Any) -> tuple[str, ...]:
    values = value.split(",") if isinstance(value, str) else value or ()
    return tuple(str(name).strip() for name in values)
