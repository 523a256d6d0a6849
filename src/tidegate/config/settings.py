"""The settings of a project, as values. `settings_file` reads them from tidegate.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from tidegate.config.chunk_settings import ChunksSection
from tidegate.config.database_url import DatabaseUrl
from tidegate.config.hook_settings import BudgetSection, Endpoint, HookSettings
from tidegate.config.s3_settings import S3Section
from tidegate.config.sandbox_settings import SandboxSection
from tidegate.config.source_settings import SourceSettings
from tidegate.redaction import Secret

__all__ = [
    "AnomaliesSection",
    "ContractsSection",
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
    """Deviations from the mean of earlier runs, as shares of it: 0.5 is half as much more or less; 0 is off."""

    threshold: float = 0.5
    """For every kind of anomaly that has no threshold of its own below."""
    row_count: float | None = None
    null_share: float | None = None
    freshness: float | None = None
    mean: float | None = None
    distinct: float | None = None

    def thresholds(self, own: float | None = None) -> Mapping[str, float]:
        """By kind. `own`: the model's own threshold, which applies to every kind."""
        kinds = [field.name for field in fields(self) if field.name != "threshold"]
        if own is not None:
            return dict.fromkeys(kinds, own)
        by_kind = {kind: getattr(self, kind) for kind in kinds}
        return {kind: self.threshold if value is None else value for kind, value in by_kind.items()}


@dataclass(frozen=True, slots=True)
class ProjectSection:
    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class NessieServer:
    uri: str
    """Of its API v2."""
    ref: str = "main"
    """The branch that is main here."""
    token: Secret | None = None


@dataclass(frozen=True, slots=True)
class RestServer:
    """An Iceberg REST catalog."""

    uri: str
    catalog_name: str | None = None
    """Which of its catalogs, if it has several."""
    token: Secret | None = None
    credential: Secret | None = None
    """`id:secret` of an OAuth2 client, for a token of `scope` from `oauth2_server_uri`."""
    oauth2_server_uri: str | None = None
    scope: str = "catalog"
    headers: Mapping[str, Secret] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LakeSection:
    catalog: str
    """embedded, jdbc, nessie or rest"""
    catalog_path: Path
    """The SQLite file of an embedded catalog, or of the branches of a rest catalog."""
    warehouse: Path
    jdbc: DatabaseUrl | None = None
    nessie: NessieServer | None = None
    rest: RestServer | None = None
    branches: DatabaseUrl | None = None
    """The database that holds the branches of a rest catalog; None: the SQLite file."""
    on_branch_failure: str = "fail"
    """`fail`, or `direct`: a run that gets no branch writes main itself."""


@dataclass(frozen=True, slots=True)
class SparkSection:
    master: str = "local[*]"
    memory: str = "2g"
    conf: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    """Functions that this Spark has beyond its built-in ones, so that queries may call them."""
    allow_code: bool = False
    """SQL models may run commands (TRANSFORM) and call methods of the JVM (reflect)."""
    keep_alive: timedelta | None = None
    """How long a worker holds Spark for the next command; zero: there is none; None: that depends on the terminal."""

    @property
    def function_names(self) -> frozenset[str]:
        """The declared functions in lower case: names of functions are case-insensitive."""
        return frozenset(name.lower() for name in self.functions)


@dataclass(frozen=True, slots=True)
class StateSection:
    """A SQLAlchemy URL, which may hold a password; by default SQLite in `.tidegate/state.db`."""

    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RunSection:
    publish: str = "run"
    """run, wave, model or all"""
    concurrency: int | None = None
    """None: one model per core of a local master, else 4."""
    fail_fast: bool = False
    isolation: str = "snapshot"
    test_timeout: timedelta = timedelta(minutes=5)
    dropped_column_grace: timedelta = timedelta(days=7)
    verify_every: int | None = None
    """After so many builds from changes a table is compared with a full build; None: never."""
    profiles: bool = True
    retries: int = 20
    """Of all models together."""
    retry_max_delay: timedelta = timedelta(minutes=5)
    timeout: timedelta | None = None
    """Of the run; None: no limit."""
    model_timeout: timedelta | None = None
    max_concurrency: int = 8
    """Of each throttled service."""
    cooldown_seconds: int = 30
    """Of each throttled service."""
    breaker_failures: int = 5
    """After so many failures in a row a service is no longer called."""
    breaker_pause: timedelta = timedelta(seconds=30)
    error_rate_abort: float | None = None
    """The share of failed models at which the run is aborted."""
    error_rate_models: int = 5
    """The error rate counts once so many models have ended."""
    memory_limit: int | None = None
    """Bytes."""

    @property
    def serializable(self) -> bool:
        return self.isolation == "serializable"


@dataclass(frozen=True, slots=True)
class ZoneSettings:
    """`[landing.<zone>]`: how to read a zone; None: inferred from the files."""

    format: str | None = None
    header: bool | None = None
    multiline: bool | None = None
    delimiter: str | None = None
    columns: Mapping[str, str] | None = None
    """Names with their Spark types."""
    encoding: str | None = None
    escape: str | None = None
    bad_records: str | None = None
    """"quarantine" splits off records that cannot be read; None: they fail the model."""
    raw: bool = False
    """Every column is read as text, as delivered, and each row gets the columns that say where it comes from.
    `columns` are then columns that are there in any case; those that the files have are added."""
    content_path: str | None = None
    """Where the records are in each JSON document of a raw zone, such as `data.items`; empty or None: the document."""
    by_name: bool = False
    """A connector writes the files: those of its complete manifests are read, each once, whatever they hold."""

    OF_CONTRACTS: ClassVar = ("raw", "content_path", "by_name")
    """Fields that contracts set; they are no keys of tidegate.toml."""

    @property
    def quarantines(self) -> bool:
        return self.bad_records == "quarantine"


@dataclass(frozen=True, slots=True)
class ContractsSection:
    """Where contracts and the files that they read are, apart from the warehouse."""

    location: Path = Path("contracts")
    """The folder of contracts that stand alone."""
    files_root: Path = Path()
    """What paths in contracts are relative to: a generator_notebook, and the files that connector `files` reads."""
    absolute_paths: bool = False
    """`endpoint` of a contract may name files anywhere on this machine."""


@dataclass(frozen=True, slots=True)
class LandingSection:
    root: Path
    zones: Mapping[str, ZoneSettings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LintsSection:
    """The severity of each lint: off, info, warning or error."""

    blast_radius: str = "info"
    freshness_coverage: str = "off"


@dataclass(frozen=True, slots=True)
class MaintenanceSection:
    """Maintenance of files after a successful run."""

    after_run: bool = True
    """False: only `tidegate maintain` does it."""
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
    """Time without a heartbeat after which the reaper acts."""

    stuck_run_timeout_minutes: int = 30
    """A run is marked as failed."""
    pending_run_timeout_hours: int = 24
    """A run that has not started is marked as failed."""
    orphan_branch_max_age_hours: int = 6
    """A branch is dropped."""


@dataclass(frozen=True, slots=True)
class MaskingSection:
    salt: Secret | None = None
    """Prepended to what `hash_pii` hashes, so that values cannot be guessed without it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one project. All paths are absolute."""

    root: Path
    """The folder of tidegate.toml."""
    file: Path
    """The settings file."""
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
    contracts: ContractsSection = field(default_factory=ContractsSection)
    hooks: tuple[HookSettings, ...] = ()
    callback: Endpoint | None = None
    budget: BudgetSection = field(default_factory=BudgetSection)
    chunks: ChunksSection = field(default_factory=ChunksSection)
    s3: S3Section = field(default_factory=S3Section)
    sandbox: SandboxSection = field(default_factory=SandboxSection)
