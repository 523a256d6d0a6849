"""tidegate.toml and the environment, as frozen settings."""

from tidegate.amounts import format_duration, parse_duration
from tidegate.config.chunk_settings import CHUNK_VARIABLES, ChunkSource, ChunksSection
from tidegate.config.database_url import DatabaseUrl
from tidegate.config.hook_settings import BudgetSection, CommandHook, Endpoint, HookSettings, WebHook
from tidegate.config.jdbc_settings import JdbcSource, SqlServerSource
from tidegate.config.rest_source import RestSource
from tidegate.config.s3_settings import S3Section
from tidegate.config.sandbox_settings import SandboxSection
from tidegate.config.settings import (
    AnomaliesSection,
    ContractsSection,
    LakeSection,
    LandingSection,
    LintsSection,
    MaintenanceSection,
    NessieServer,
    ProjectSection,
    ReaperSection,
    RestServer,
    RunSection,
    Settings,
    SparkSection,
    StateSection,
    ZoneSettings,
)
from tidegate.config.settings_file import FILE_NAME, find_project, load_settings
from tidegate.config.source_settings import (
    CatalogSource,
    DatabaseSource,
    FivetranSource,
    ManualSource,
    SourceSettings,
)
from tidegate.redaction import Secret

__all__ = [
    "CHUNK_VARIABLES",
    "FILE_NAME",
    "AnomaliesSection",
    "BudgetSection",
    "CatalogSource",
    "ChunkSource",
    "ChunksSection",
    "CommandHook",
    "ContractsSection",
    "DatabaseSource",
    "DatabaseUrl",
    "Endpoint",
    "FivetranSource",
    "HookSettings",
    "JdbcSource",
    "LakeSection",
    "LandingSection",
    "LintsSection",
    "MaintenanceSection",
    "ManualSource",
    "NessieServer",
    "ProjectSection",
    "ReaperSection",
    "RestServer",
    "RestSource",
    "RunSection",
    "S3Section",
    "SandboxSection",
    "Secret",
    "Settings",
    "SourceSettings",
    "SparkSection",
    "SqlServerSource",
    "StateSection",
    "WebHook",
    "ZoneSettings",
    "find_project",
    "format_duration",
    "load_settings",
    "parse_duration",
]
