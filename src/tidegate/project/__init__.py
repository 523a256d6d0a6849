"""Model files, sidecars, directives and templates, as values."""

from tidegate.problems import Place, Problem
from tidegate.project.loading import load_project
from tidegate.project.model import LoadedProject, Materialized, Model, ModelSettings, Severity
from tidegate.project.strategies import DEFAULT_STRATEGY, STRATEGIES, Strategy
from tidegate.project.template_names import MacroFile

__all__ = [
    "DEFAULT_STRATEGY",
    "STRATEGIES",
    "LoadedProject",
    "MacroFile",
    "Materialized",
    "Model",
    "ModelSettings",
    "Place",
    "Problem",
    "Severity",
    "Strategy",
    "load_project",
]
