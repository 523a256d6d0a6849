"""The settings of a project, as values: what the other rooms read. `load.py` makes them from tidegate.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

from tidegate.config.database_url import DatabaseUrl
from tidegate.config.hook_settings import BudgetSection, Endpoint, HookSettings
from tidegate.config.source_settings import SourceSettings
from tidegate.redaction import Secret

__all__ = [
    "AnomaliesSection",
    "LakeSection",
    "LandingSection",
    "LintsSection",
    "MaintenanceSection",
    "MaskingSection",
    "NessieServer",
    "ProjectSection",
    "ReaperSection",
    "RestServer",
    "RunSection",
    "Settings",
    "SparkSection",
    "StateSection",
    "ZoneSettings",
]


@dataclass(frozen=True, slots=True)
class AnomaliesSection:
    """Deviations from the mean of the runs before, as parts of it: 0.5 is half as much more or less; 0 is off.

    The others are for one kind each; None: as `threshold`.
    """

    threshold: float = 0.5
    row_count: float | None = None
    null_share: float | None = None
    freshness: float | None = None
    mean: float | None = None
    distinct: float | None = None

    def thresholds(self, own: float | None = None) -> Mapping[str, float]:
        """By kind. `own`: what a model says for itself, which counts for every kind."""
        kinds = [field.name for field in fields(self) if field.name != "threshold"]
        if own is not None:
            return dict.fromkeys(kinds, own)
        given = {kind: getattr(self, kind) for kind in kinds}
        return {kind: self.threshold if value is None else value for kind, value in given.items()}


@dataclass(frozen=True, slots=True)
class ProjectSection:
    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class NessieServer:
    """`uri` is that of its API v2; `ref` the branch that is main here."""

    uri: str
    ref: str = "main"
    token: Secret | None = None


@dataclass(frozen=True, slots=True)
class RestServer:
    """An Iceberg REST catalog. `catalog_name`: which of its catalogs, if it has several.

    `credential` is `id:secret` of an OAuth2 client, for a token of `scope` from `oauth2_server_uri`.
    """

    uri: str
    catalog_name: str | None = None
    token: Secret | None = None
    credential: Secret | None = None
    oauth2_server_uri: str | None = None
    scope: str = "catalog"
    headers: Mapping[str, Secret] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LakeSection:
    """`catalog` is embedded, jdbc, nessie or rest; each has what it needs: a SQLite file, a database, a server.

    `branches` of a rest catalog: the database that holds them; None: the SQLite file.
    `on_branch_failure`: `fail`, or `direct`, where a run that gets no branch writes main itself.
    """

    catalog: str
    catalog_path: Path
    warehouse: Path
    jdbc: DatabaseUrl | None = None
    nessie: NessieServer | None = None
    rest: RestServer | None = None
    branches: DatabaseUrl | None = None
    on_branch_failure: str = "fail"


@dataclass(frozen=True, slots=True)
class SparkSection:
    """`functions`: names that this Spark has beyond its own, so that queries may call them.

    `allow_code`: SQL models may run commands (TRANSFORM) and call methods of the JVM (reflect).
    """

    master: str = "local[*]"
    memory: str = "2g"
    conf: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    allow_code: bool = False

    @property
    def function_names(self) -> frozenset[str]:
        """The declared functions as they are looked up: names of functions are the same in upper and lower case."""
        return frozenset(name.lower() for name in self.functions)


@dataclass(frozen=True, slots=True)
class StateSection:
    """A SQLAlchemy URL, which may hold a password; by default SQLite in `.tidegate/state.db`."""

    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RunSection:
    """`publish` is run, wave, model or all; `concurrency` None means one model per core of a local master, else 4.

    `verify_every`: the number of builds from changes after which a table is compared with a full build; None: never.
    `retries`: those of all models together. A time limit of None is none. `max_concurrency` and `cooldown_seconds` are
    about each throttled service, `breaker_failures` and `breaker_pause` about each that cannot be reached.
    `error_rate_abort`: the share of models, counted once `error_rate_models` have ended. `memory_limit`: bytes.
    """

    publish: str = "run"
    concurrency: int | None = None
    fail_fast: bool = False
    isolation: str = "snapshot"
    test_timeout: timedelta = timedelta(minutes=5)
    dropped_column_grace: timedelta = timedelta(days=7)
    verify_every: int | None = None
    profiles: bool = True
    retries: int = 20
    retry_max_delay: timedelta = timedelta(minutes=5)
    timeout: timedelta | None = None
    model_timeout: timedelta | None = None
    max_concurrency: int = 8
    cooldown_seconds: int = 30
    breaker_failures: int = 5
    breaker_pause: timedelta = timedelta(seconds=30)
    error_rate_abort: float | None = None
    error_rate_models: int = 5
    memory_limit: int | None = None

    @property
    def serializable(self) -> bool:
        return self.isolation == "serializable"


@dataclass(frozen=True, slots=True)
class ZoneSettings:
    """`[landing.<zone>]`: how to read a zone; None: find out from the files.

    `columns`: names with their Spark types.
    `bad_records`: "quarantine" leaves out records that cannot be read; None: they fail the model.
    """

    format: str | None = None
    header: bool | None = None
    multiline: bool | None = None
    delimiter: str | None = None
    columns: Mapping[str, str] | None = None
    encoding: str | None = None
    escape: str | None = None
    bad_records: str | None = None

    @property
    def quarantines(self) -> bool:
        return self.bad_records == "quarantine"


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


@dataclass(frozen=True, slots=True)
class ReaperSection:
    """After how long without a sign of life a run is failed, one that waits to begin is, and a branch is dropped."""

    stuck_run_timeout_minutes: int = 30
    pending_run_timeout_hours: int = 24
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
    anomalies: AnomaliesSection = field(default_factory=AnomaliesSection)
    masking: MaskingSection = field(default_factory=MaskingSection)
    reaper: ReaperSection = field(default_factory=ReaperSection)
    hooks: tuple[HookSettings, ...] = ()
    callback: Endpoint | None = None
    budget: BudgetSection = field(default_factory=BudgetSection)
