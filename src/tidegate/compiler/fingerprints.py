"""The fingerprint of a model: equal where the definition gives the same table, whatever its formatting."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from blake3 import blake3

from tidegate.compiler.compiled import LandingRead
from tidegate.compiler.query_facts import QueryFacts
from tidegate.config import ZoneSettings
from tidegate.project.column_masks import ColumnMask
from tidegate.project.model import ModelSettings

__all__ = ["fingerprint"]

_VERSION = 3
_NOT_THE_RESULT = {
    "description",
    "owner",
    "tags",
    "columns",
    "column_tags",
    "depends_on",
    "archive_landing_zones",
    "skip",
    "deltas",
    "lookback",
    "freshness",
    "anomaly_threshold",
    "quarantine",
    "max_retries",
    "retry_delay_seconds",
    "timeout",
}
_CHANGES_MEANING = (
    "spark.sql.ansi.",
    "spark.sql.caseSensitive",
    "spark.sql.decimalOperations.",
    "spark.sql.groupBy",
    "spark.sql.legacy.",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.orderByOrdinal",
    "spark.sql.parser.",
    "spark.sql.session.timeZone",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.timestampType",
)
"""Prefixes of Spark settings under which the same query gives other rows."""


def fingerprint(
    queries: Sequence[QueryFacts],
    landings: Sequence[LandingRead],
    settings: ModelSettings,
    inlined: Mapping[str, str],
    masks: Sequence[ColumnMask] = (),
    refusing: str = "",
    spark_conf: Mapping[str, str] = MappingProxyType({}),
    code: Sequence[str] = (),
) -> str:
    """`queries`: the model as rendered for a first and for a later run; `inlined`: ephemeral models by fingerprint.

    `refusing`: a digest of the constraints that keep rows out of the table. `spark_conf`: Spark's settings, of which
    those count that change what a query means. `code`: of a Python model, see `code_definition`.
    """
    definition: list[Any] = [
        _VERSION,
        [query.words for query in queries],
        sorted(map(_landing, landings)),
        _settings(tuple(getattr(settings, name) for name in _counted())),
        sorted(inlined.items()),
    ]
    if masks:
        definition.append(sorted(mask.definition for mask in masks))
    if refusing:
        definition.append(["quarantine", refusing])
    if code:
        definition.append(["python", *code])
    if settings_that_count := sorted(pair for pair in spark_conf.items() if pair[0].startswith(_CHANGES_MEANING)):
        definition.append(["spark", settings_that_count])
    return str(blake3(json.dumps(definition).encode()).hexdigest())


def _landing(landing: LandingRead) -> str:
    """A setting that was added later counts only where it is declared, so that tables built before it stay valid."""
    definition = asdict(landing)
    later = ("encoding", "escape", "bad_records", *ZoneSettings.OF_CONTRACTS)
    read = {name: value for name, value in definition["settings"].items() if value or name not in later}
    return json.dumps({**definition, "settings": read}, sort_keys=True)


@lru_cache(maxsize=1)
def _counted() -> tuple[str, ...]:
    return tuple(field.name for field in fields(ModelSettings) if field.name not in _NOT_THE_RESULT)


@lru_cache(maxsize=1024)
def _settings(values: tuple[Any, ...]) -> str:
    return json.dumps(dict(zip(_counted(), values, strict=True)), sort_keys=True)
