"""tidegate.toml and the environment, as frozen settings."""

from tidegate.config.durations import format_duration, parse_duration
from tidegate.config.load import FILE_NAME, find_project, load_settings
from tidegate.config.settings import (
    LakeSection,
    LandingSection,
    MaintenanceSection,
    ProjectSection,
    RunSection,
    Settings,
    SparkSection,
    StateSection,
    ZoneSettings,
)

__all__ = [
    "FILE_NAME",
    "LakeSection",
    "LandingSection",
    "MaintenanceSection",
    "ProjectSection",
    "RunSection",
    "Settings",
    "SparkSection",
    "StateSection",
    "ZoneSettings",
    "find_project",
    "format_duration",
    "load_settings",
    "parse_duration",
]
