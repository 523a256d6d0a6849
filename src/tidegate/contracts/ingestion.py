"""What a contract asks of each stage of the data, as values: the source, its landing zone and bronze, and silver.

`read_ingestion` gives them for a contract that is valid for its stages. The rooms that read, validate and write rows
work from these values and never from the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from tidegate.contracts.connectors import Connector
from tidegate.problems import Place

if TYPE_CHECKING:
    from tidegate.contracts.yaml_document import Path

__all__ = [
    "COMMIT_TIME",
    "DEFAULT_NULL_VALUES",
    "SEQUENCE",
    "WRITE_STRATEGIES",
    "ContractStage",
    "DeleteIndicator",
    "DeletionRules",
    "Ingestion",
    "QualityRule",
    "SilverColumn",
    "SilverRules",
    "SourceRules",
    "TableRules",
    "WriteStrategy",
    "default_strategy",
]

DEFAULT_NULL_VALUES = ("", "null", "NULL", "none", "None", "N/A", "n/a", "NaN", "nan")
"""Texts that mean that there is no value, unless the contract's `null_values` names others."""

COMMIT_TIME, SEQUENCE = "_commit_time", "_sequence"
"""Together they order the rows of one key: the greatest is the newest."""


@dataclass(frozen=True, slots=True)
class WriteStrategy:
    """What the other rooms ask of a `silver_write_strategy`."""

    needs_key: bool = False
    keeps_versions: bool = False
    """The table has every version of a key, with `is_current` for the newest."""

    by_partition: bool = False
    """The partitions of a column that is `partitioned` are replaced."""


WRITE_STRATEGIES: Mapping[str, WriteStrategy] = {
    "current_state": WriteStrategy(needs_key=True),
    "history": WriteStrategy(needs_key=True, keeps_versions=True),
    "append": WriteStrategy(),
    "snapshot": WriteStrategy(by_partition=True),
}


def default_strategy(has_key: bool) -> str:
    return "current_state" if has_key else "append"


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
    parts: tuple[SilverColumn, ...] = ()
    """The properties inside an object. Their constraints hold where the column is a struct."""

    items: SilverColumn | None = None
    """What an array holds."""


@dataclass(frozen=True, slots=True)
class DeleteIndicator:
    """What says that a row is a delete signal, besides its `_op`; also where deletions are not applied."""

    column: str
    """A silver column, or a column of bronze."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class DeletionRules:
    """How delete signals are applied."""

    inferred: bool
    """A key that a complete snapshot lacks is deleted; else rows themselves say that their key is deleted."""

    soft: bool
    """Deleted rows are flagged; else they are removed."""

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

    path: Path = field(default=(), compare=False, repr=False)
    """Of the query in the contract."""


@dataclass(frozen=True, slots=True)
class TableRules:
    """What is asked of the rows of any table."""

    name: str
    """Of the object."""

    table: str
    """The name of the table, without its layer."""

    columns: tuple[SilverColumn, ...]
    key: tuple[str, ...]
    """The columns of the primary key, in order."""

    @property
    def keeps_versions(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class SilverRules(TableRules):
    strategy: str
    """One of WRITE_STRATEGIES."""

    deletion: DeletionRules | None = None
    """None: delete signals are counted and left out."""

    indicator: DeleteIndicator | None = None
    null_values: tuple[str, ...] = DEFAULT_NULL_VALUES
    quality: tuple[QualityRule, ...] = ()
    not_evaluated: tuple[str, ...] = ()
    """What else the contract asks for: quality rules of other types than sql, and constraints that no stage knows."""

    partition_column: str | None = None
    """The first column that is declared as `partitioned`."""

    @property
    def keeps_versions(self) -> bool:
        return WRITE_STRATEGIES[self.strategy].keeps_versions


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
        return _digest(repr(self.source), repr(self.silver))

    @property
    def shape(self) -> str:
        """Another one where rows that are judged now cannot stand beside those that silver has: from another bronze
        table, with other columns, or written in another way."""
        silver = self.silver
        columns = [f"{column.name} {column.type}" for column in silver.columns]
        written = (silver.key, silver.strategy, silver.deletion, silver.partition_column)
        return _digest(self.source.table, *columns, repr(written))


def _digest(*texts: str) -> str:
    return str(blake3(json.dumps(texts).encode()).hexdigest(length=16))


@dataclass(frozen=True, slots=True)
class ContractStage:
    """What a model of a contract makes: its bronze table, or its silver table."""

    ingestion: Ingestion
    is_silver: bool

    rule_places: tuple[Place, ...] = ()
    """Where the quality rules of a silver table are written, in their order."""
