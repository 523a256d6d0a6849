"""The settings of a project, as values: what the other rooms read. `load.py` makes them from tidegate.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from tidegate.config.secret import Secret
from tidegate.config.sources import SourceSettings

__all__ = [
    "LakeSection",
    "LandingSection",
    "LintsSection",
    "MaintenanceSection",
    "MaskingSection",
    "ProjectSection",
    "RunSection",
    "Settings",
    "SparkSection",
    "StateSection",
    "ZoneSettings",
]


@dataclass(frozen=True, slots=True)
class ProjectSection:
    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class LakeSection:
    """`catalog` is `embedded`, or later another kind; `catalog_path` is the embedded catalog's SQLite file."""

    catalog: str
    catalog_path: Path
    warehouse: Path


@dataclass(frozen=True, slots=True)
class SparkSection:
    """`functions`: names that this Spark has beyond its own, so that queries may call them."""

    master: str = "local[*]"
    memory: str = "2g"
    conf: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StateSection:
    """A SQLAlchemy URL; by default SQLite in `.tidegate/state.db`."""

    url: str


@dataclass(frozen=True, slots=True)
class RunSection:
    """`publish` is run, wave, model or all; `concurrency` None means one model per core of a local master, else 4.

    `verify_every`: the number of builds from changes after which a table is compared with a full build; None: never.
    """

    publish: str = "run"
    concurrency: int | None = None
    fail_fast: bool = False
    isolation: str = "snapshot"
    test_timeout: timedelta = timedelta(minutes=5)
    dropped_column_grace: timedelta = timedelta(days=7)
    verify_every: int | None = None


@dataclass(frozen=True, slots=True)
class ZoneSettings:
    """`[landing.<zone>]`: how to read a zone; None: find out from the files. `columns` maps name to Spark type."""

    format: str | None = None
    header: bool | None = None
    multiline: bool | None = None
    delimiter: str | None = None
    columns: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class LandingSection:
    root: Path
    zones: Mapping[str, ZoneSettings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LintsSection:
    """How loud each lint is: off, info, warning or error."""

    blast_radius: str = "info"
    freshness_coverage: str = "off"


@dataclass(frozen=True, slots=True)
class MaintenanceSection:
    """What happens to files after a successful run. `after_run` False leaves it all to `tidegate maintain`."""

    after_run: bool = True
    compact: bool = True
    small_file_mb: int = 16
    min_small_files: int = 50
    expire: bool = True
    keep_snapshots: int = 20
    keep_days: int = 7
    sweep: bool = True
    sweep_min_age_hours: int = 24
    orphan_branch_max_age_hours: int = 6


@dataclass(frozen=True, slots=True)
class MaskingSection:
    """`salt`: put before what `hash_pii` hashes, so that nobody without it can try out values."""

    salt: Secret | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """One project's settings. `root` is the folder of tidegate.toml, `file` that file; paths are absolute."""

    root: Path
    file: Path
    project: ProjectSection
    lake: LakeSection
    spark: SparkSection
    state: StateSection
    run: RunSection
    landing: LandingSection
    maintenance: MaintenanceSection
    defaults: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    lints: LintsSection = field(default_factory=LintsSection)
    masking: MaskingSection = field(default_factory=MaskingSection)
