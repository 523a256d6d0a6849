"""A project, its models and their settings, as read from disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from tidegate.checks.check_values import Check
from tidegate.config import Settings, ZoneSettings
from tidegate.contracts import ModelContract
from tidegate.names import TableName
from tidegate.problems import Place, Problem, Severity
from tidegate.project.column_masks import ColumnMask
from tidegate.project.lib_functions import LibFunction
from tidegate.project.python_source import PythonSource
from tidegate.project.strategies import DEFAULT_STRATEGY, STRATEGIES, Deltas, Strategy, StrategyTraits
from tidegate.project.template_names import MacroFile
from tidegate.project.unit_test_files import UnitTest

if TYPE_CHECKING:
    from tidegate.contracts.ingestion import ContractStage

__all__ = ["CodeFile", "Freshness", "LoadedProject", "Materialized", "Model", "ModelSettings", "Severity", "Strategy"]


class Materialized(StrEnum):
    TABLE = "table"
    VIEW = "view"
    EPHEMERAL = "ephemeral"


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old the newest row may be."""

    age: str
    """As written, such as `24h`."""

    column: str | None = None
    """None: the model's watermark or time column."""

    audit: bool = False
    """A table that is older is not published; else it is a warning."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What a model's directives, sidecar and defaults add up to."""

    strategy: Strategy = DEFAULT_STRATEGY
    materialized: Materialized = Materialized.TABLE
    unique_key: tuple[str, ...] = ()
    group_key: tuple[str, ...] = ()
    watermark_column: str | None = None
    partition_column: str | None = None
    partitioned_by: tuple[str, ...] = ()
    sorted_by: tuple[str, ...] = ()
    time_column: str | None = None
    granularity: str = "day"
    lookback: int = 0
    first_partition: str | None = None
    scd_valid_from: str = "valid_from"
    scd_valid_to: str = "valid_to"
    scd_deletes: str = "close"
    on_empty: str = "replace"
    on_duplicate: str | None = None
    null_keys: str = "fail"
    deltas: str = "auto"
    deletes: str | None = None
    skip: str = "auto"
    archive_landing_zones: bool = False
    quarantine: bool = False
    description: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    freshness: Freshness | None = None
    anomaly_threshold: float | None = None
    max_retries: int = 0
    retry_delay_seconds: int = 30
    timeout: timedelta | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    column_tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def traits(self) -> StrategyTraits:
        """The facts about the strategy that compiling, planning, writing and checking need."""
        return STRATEGIES[self.strategy]

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that the strategy's own key setting names."""
        columns: tuple[str, ...] = getattr(self, self.traits.key_setting) if self.traits.key_setting else ()
        return columns

    @property
    def written_as(self) -> str:
        """The strategy, or `view` or `ephemeral`, for messages."""
        return str(self.strategy if self.materialized is Materialized.TABLE else self.materialized)


@dataclass(frozen=True, slots=True)
class Model:
    """What produces one table or view."""

    table: TableName

    file: str
    """Relative to the project."""

    source: str
    """The text of the file."""

    settings: ModelSettings
    contract: ModelContract | None = None

    origins: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)
    """Where its settings are written, by their names in ModelSettings, and the tags of each column that the model
    itself names, as `column_tags.<name in lower case>`."""

    checks: tuple[Check, ...] = ()
    """Every rule about its table."""

    masks: tuple[ColumnMask, ...] = ()

    stage: ContractStage | None = None
    """Of a model that a contract gives."""

    source_lines: tuple[int, ...] = ()
    """Where `source` was made from another text: the line of the file for each of its lines."""

    python: PythonSource | None = None
    """What the code of a Python model shows; `source` is that code. None where `source` is SQL."""

    @property
    def key(self) -> str:
        """Of the model among all that files of the project give: a contract gives two."""
        return f"{self.file}#{self.table.layer}" if self.stage else self.file

    @property
    def directive(self) -> str:
        """How a directive begins in its file."""
        return "--" if self.python is None else "#"

    @property
    def takes_new_rows(self) -> bool:
        """Only the rows that its inputs gained are read, unless the table is rebuilt."""
        return self.settings.traits.deltas is Deltas.INSERTED or self.is_silver

    @property
    def is_silver(self) -> bool:
        """It makes the silver table of a contract: from bronze, which has all rows that ever came."""
        return self.stage is not None and self.stage.is_silver

    @property
    def sql_tests(self) -> tuple[Check, ...]:
        """The checks that are queries, written like a model's."""
        return tuple(check for check in self.checks if check.call is None)

    @property
    def path(self) -> PurePosixPath:
        return PurePosixPath(self.file)


class CodeFile(NamedTuple):
    """A file of Python besides the models."""

    path: str
    """Relative to the project."""

    source: str


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """A project as read from disk."""

    models: tuple[Model, ...] = ()
    macros: tuple[MacroFile, ...] = ()
    problems: tuple[Problem, ...] = ()

    unread: frozenset[TableName] = frozenset()
    """Tables whose model could not be read."""

    unit_tests: tuple[UnitTest, ...] = ()

    own_checks: tuple[str, ...] = ()
    """The names of the project's own checks."""

    own_masks: tuple[str, ...] = ()
    """The names of the project's own masks."""

    code_files: tuple[CodeFile, ...] = ()
    """Of the project's own checks in Python, and of its table functions."""

    functions: Mapping[str, LibFunction] = field(default_factory=dict)
    """Its table functions, by name in lower case."""

    function_names: frozenset[str] = frozenset()
    """Also of those that cannot be used."""

    zones: Mapping[str, ZoneSettings] = field(default_factory=dict)
    """How the landing zones of contracts are read."""

    def with_zones(self, settings: Settings) -> Settings:
        """The settings, with the landing zones of contracts read as the contracts say."""
        if not self.zones:
            return settings
        zones = {**settings.landing.zones}
        for zone, read_as in self.zones.items():
            chosen = {item.name: getattr(read_as, item.name) for item in fields(ZoneSettings)}
            declared = {name: value for name, value in chosen.items() if value not in (None, False)}
            zones[zone] = replace(zones.get(zone, ZoneSettings()), **declared)
        return replace(settings, landing=replace(settings.landing, zones=zones))

    def origin(self, model: Model, *settings: str) -> Place:
        """The place of the first of `settings` that is set; else the model's first line."""
        return next((model.origins[name] for name in settings if name in model.origins), Place(model.file))
