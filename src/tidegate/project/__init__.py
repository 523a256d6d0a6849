"""Model files, sidecars, directives and templates, as values."""

from tidegate.project.load import load_project
from tidegate.project.model import Materialized, Model, ModelSettings, Severity
from tidegate.project.problems import Place, Problem
from tidegate.project.project import Project
from tidegate.project.strategies import DEFAULT_STRATEGY, STRATEGIES, Strategy
from tidegate.project.templates.fill import MacroFile

__all__ = [
    "DEFAULT_STRATEGY",
    "STRATEGIES",
    "MacroFile",
    "Materialized",
    "Model",
    "ModelSettings",
    "Place",
    "Problem",
    "Project",
    "Severity",
    "Strategy",
    "load_project",
]
