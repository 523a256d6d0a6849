"""Model files, sidecars, directives and templates, as values."""

from tidegate.problems import Place, Problem
from tidegate.project.loading import load_project
from tidegate.project.model import Materialized, Model, ModelSettings, Project, Severity
from tidegate.project.strategies import DEFAULT_STRATEGY, STRATEGIES, Strategy
from tidegate.project.template_names import MacroFile

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
