"""tidegate.toml and the environment, as frozen settings."""

from tidegate.config.durations import format_duration, parse_duration
from tidegate.config.load import FILE_NAME, find_project, load_settings
from tidegate.config.secret import Secret
from tidegate.config.settings import (
    LakeSection,
    LandingSection,
    LintsSection,
    MaintenanceSection,
    ProjectSection,
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
    "CatalogSource",
    "DatabaseSource",
    "FivetranSource",
    "LakeSection",
    "LandingSection",
    "LintsSection",
    "MaintenanceSection",
    "ManualSource",
    "ProjectSection",
    "RunSection",
    "Secret",
    "Settings",
    "SourceSettings",
    "SparkSection",
    "StateSection",
    "ZoneSettings",
    "find_project",
    "format_duration",
    "load_settings",
    "parse_duration",
]
