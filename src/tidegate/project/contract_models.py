"""Contracts that drive data → models: each gives its bronze table and its silver table.

The query of a silver model declares its columns, types and lineage to the compiler. Its rows come from the stages of
the contract, which a query alone could not give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tidegate.config import ZoneSettings
from tidegate.contracts import ModelContract
from tidegate.contracts.ingestion import (
    COMMIT_TIME,
    SEQUENCE,
    ContractStage,
    Ingestion,
    SilverColumn,
    SilverRules,
)
from tidegate.names import TableName, literal, quote
from tidegate.problems import Place, Problem
from tidegate.project.model import Model, ModelSettings
from tidegate.project.strategies import CONTRACT_STRATEGIES, STRATEGIES

if TYPE_CHECKING:
    from tidegate.contracts.stage_problems import StageReading

__all__ = ["BRONZE", "ContractModels", "GoldTable", "read_contract_models"]

BRONZE, SILVER, GOLD = "bronze", "silver", "gold"


@dataclass(frozen=True, slots=True)
class GoldTable:
    """What a contract asks of the model that makes a gold table."""

    terms: ModelContract
    place: Place


@dataclass(frozen=True, slots=True)
class ContractModels:
    """What one contract file gives a project."""

    models: tuple[Model, ...] = ()
    zones: Mapping[str, ZoneSettings] = field(default_factory=dict)
    """How its landing zone is read."""

    problems: tuple[Problem, ...] = ()
    unread: tuple[TableName, ...] = ()
    """Tables of a contract with errors."""

    gold: Mapping[TableName, GoldTable] = field(default_factory=dict)
    generator: tuple[str, Place] | None = None
    """The file that `generator_notebook` names, and where."""


def read_contract_models(text: str, file: str, namespace: str) -> ContractModels:
    """No model for a contract that names neither a connector nor a generator of gold."""
    # Only here: YAML and the standard's schema take a while to load.
    from tidegate.contracts.read_ingestion import read_ingestion
    from tidegate.contracts.stage_problems import read_stages

    reading = read_stages(text, file)
    if reading.contract is None or not reading.stages:
        return ContractModels(problems=reading.problems)
    if "gold" in reading.stages:
        return _gold(text, file, namespace, reading)
    if reading.problems:
        names = ((BRONZE, "bronze_table", reading.contract.source), (SILVER, "silver_table", reading.contract.silver))
        tables = [
            TableName(namespace, layer, name)
            for layer, key, part in names
            if part is not None and (name := reading.contract.table_name(part, key))
        ]
        return ContractModels(problems=reading.problems, unread=tuple(tables))
    ingestion = read_ingestion(reading.contract)
    assert ingestion is not None
    assert reading.document is not None
    place = reading.document.place
    source, silver = reading.contract.source, reading.contract.silver
    assert source is not None
    assert silver is not None
    columns = [place(column.at("transformLogic")).line for column in silver.items("properties")]
    bronze = _bronze(ingestion, file, namespace, place(source.path).line)
    rule_places = tuple(place(rule.path) for rule in ingestion.silver.quality)
    stage = ContractStage(ingestion, is_silver=True, rule_places=rule_places)
    return ContractModels(
        (bronze, _silver(stage, file, namespace, bronze.table, [place(silver.path).line, *columns])),
        {ingestion.source.zone: _zone(ingestion)},
    )


def _gold(text: str, file: str, namespace: str, reading: StageReading) -> ContractModels:
    from tidegate.contracts.odcs import read_odcs
    from tidegate.contracts.stage_contract import GENERATOR

    contract, document = reading.contract, reading.document
    assert contract is not None
    assert document is not None
    part = contract.with_generator()
    assert part is not None
    problems = list(reading.problems)
    tables = {}
    for table in contract.objects if part is contract.root else [part]:
        name = contract.table_name(table, "gold_table")
        terms, found = read_odcs(text, file, name)
        problems += found
        if terms is not None:
            tables[TableName(namespace, GOLD, name)] = GoldTable(terms, document.place(table.path))
    entry = part.custom.get(GENERATOR)
    generator = None
    if entry is not None and isinstance(entry.value, str):
        generator = entry.value, document.place(entry.path)
    return ContractModels(problems=tuple(dict.fromkeys(problems)), gold=tables, generator=generator)


def _zone(ingestion: Ingestion) -> ZoneSettings:
    source = ingestion.source
    return ZoneSettings(
        format=source.format or None,
        multiline=source.multiline,
        bad_records="quarantine",
        columns=dict.fromkeys(source.columns, "string"),
        raw=True,
        content_path=source.content_path or None,
        by_name=source.connector.reads_source,
    )


def _bronze(ingestion: Ingestion, file: str, namespace: str, line: int) -> Model:
    source = ingestion.source
    table = TableName(namespace, BRONZE, source.table)
    return Model(
        table=table,
        file=file,
        source=f"SELECT * FROM {{{{ landing_zone({literal(source.zone)}) }}}}\n",
        settings=ModelSettings(
            strategy=CONTRACT_STRATEGIES["append"], description=f"{source.name}, as delivered by {source.system}"
        ),
        stage=ContractStage(ingestion, is_silver=False),
        source_lines=(line,),
    )


def _silver(stage: ContractStage, file: str, namespace: str, bronze: TableName, lines: list[int]) -> Model:
    rules = stage.ingestion.silver
    selected = _selected(rules)
    inner = [f"{_delivered(column)} AS {quote(column.name)}" for column in rules.columns]
    passed_on = f"{quote(COMMIT_TIME)}, {quote(SEQUENCE)}"
    parts = [
        ("SELECT", lines[0]),
        *((f"  {text},", line) for text, line in zip(selected, lines[1:], strict=True)),
        (f"  {', '.join([*_deletion_columns(rules), passed_on])}", lines[0]),
        ("FROM (SELECT", lines[0]),
        *((f"  {text},", line) for text, line in zip(inner, lines[1:], strict=True)),
        (f"  {passed_on}", lines[0]),
        (f"  FROM {bronze.quoted}) AS `delivered`", lines[0]),
    ]
    body = [(part, line) for text, line in parts for part in text.split("\n")]
    return Model(
        table=TableName(namespace, SILVER, rules.table),
        file=file,
        source="".join(f"{text}\n" for text, _ in body),
        settings=_settings(rules),
        stage=stage,
        source_lines=tuple(line for _, line in body),
    )


def _settings(rules: SilverRules) -> ModelSettings:
    settings = ModelSettings(strategy=CONTRACT_STRATEGIES[rules.strategy], unique_key=rules.key, deletes="ignore")
    if settings.traits.keeps_versions:
        return replace(settings, watermark_column=COMMIT_TIME)
    if settings.traits.replaces_partitions:
        return replace(settings, partition_column=rules.partition_column)
    return settings


def _selected(rules: SilverRules) -> Iterator[str]:
    for column in rules.columns:
        value = quote(column.name) if column.transform is None else f"({column.transform}\n)"
        typed = value if _is_text(column) else f"CAST({value} AS {column.type})"
        if _is_nested(column):
            typed = f"from_json({value}, {literal(f'value {column.type}')}).value"
        yield f"{typed} AS {quote(column.name)}"


def _delivered(column: SilverColumn) -> str:
    if not column.origin:
        return "CAST(NULL AS STRING)"
    first, *steps = column.origin
    if not steps:
        return quote(first)
    path = "$" + "".join(f"[{step}]" if step.isdigit() else f"['{step}']" for step in steps)
    return f"get_json_object({quote(first)}, {literal(path)})"


def _deletion_columns(rules: SilverRules) -> Iterator[str]:
    traits = STRATEGIES[CONTRACT_STRATEGIES[rules.strategy]]
    if traits.contracts_only and rules.deletion is not None and rules.deletion.soft:
        yield "false AS `_is_deleted`"
        yield "CAST(NULL AS TIMESTAMP) AS `_deleted_at`"


def _is_text(column: SilverColumn) -> bool:
    return column.type.split("(")[0] in ("string", "varchar", "char")


def _is_nested(column: SilverColumn) -> bool:
    return column.type.split("<")[0] in ("array", "map", "struct")
