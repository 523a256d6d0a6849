"""tidegate.toml and the environment, as frozen settings."""

from tidegate.config.anomalies import AnomaliesSection
from tidegate.config.database_url import DatabaseUrl
from tidegate.config.durations import format_duration, parse_duration
from tidegate.config.hooks import BudgetSection, CommandHook, Endpoint, HookSettings, WebHook
from tidegate.config.load import FILE_NAME, find_project, load_settings
from tidegate.config.secret import Secret
from tidegate.config.settings import (
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
from tidegate.config.sources import (
    CatalogSource,
    DatabaseSource,
    FivetranSource,
    ManualSource,
    SourceSettings,
)

__all__ = [
    "FILE_NAME",
    "AnomaliesSection",
    "BudgetSection",
    "CatalogSource",
    "CommandHook",
    "DatabaseSource",
    "DatabaseUrl",
    "Endpoint",
    "FivetranSource",
    "HookSettings",
    "LakeSection",
    "LandingSection",
    "LintsSection",
    "MaintenanceSection",
    "ManualSource",
    "NessieServer",
    "ProjectSection",
    "ReaperSection",
    "RestServer",
    "RunSection",
    "Secret",
    "Settings",
    "SourceSettings",
    "SparkSection",
    "StateSection",
    "WebHook",
    "ZoneSettings",
    "find_project",
    "format_duration",
    "load_settings",
    "parse_duration",
]
