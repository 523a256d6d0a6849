"""From a project to what is to be built: diagnostics, waves, fingerprints, and queries bound to a run."""

from tidegate.compiler.adhoc import bind_adhoc
from tidegate.compiler.bind import bind, bind_test
from tidegate.compiler.compiled import (
    BoundQuery,
    Compiled,
    CompiledModel,
    Diagnostic,
    DiagnosticSeverity,
    LandingRead,
    RunValues,
    Span,
    TableRead,
)
from tidegate.compiler.from_disk import compile_from_disk
from tidegate.compiler.project_compiler import compile_project

__all__ = [
    "BoundQuery",
    "Compiled",
    "CompiledModel",
    "Diagnostic",
    "DiagnosticSeverity",
    "LandingRead",
    "RunValues",
    "Span",
    "TableRead",
    "bind",
    "bind_adhoc",
    "bind_test",
    "compile_from_disk",
    "compile_project",
]
