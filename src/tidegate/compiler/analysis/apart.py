"""Calls that the parser reads in a way of its own, so that its tree no longer tells how they were written."""

from __future__ import annotations

from tidegate.compiler.analysis.arguments import wrong_count
from tidegate.compiler.analysis.scoping import Work
from tidegate.compiler.analysis.values import Finding
from tidegate.compiler.compiled import DiagnosticSeverity
from tidegate.problems import did_you_mean

__all__ = ["report_calls_read_apart"]

_FOREIGN = {
    "arg_max": "max_by",
    "arg_min": "min_by",
    "argmax": "max_by",
    "argmin": "min_by",
    "convert": "cast",
    "json_object": "to_json",
    "json_objectagg": "map_from_entries",
    "json_table": "from_json",
    "openjson": "from_json",
    "safe_cast": "try_cast",
    "try_convert": "try_cast",
    "unnest": "explode",
}
"""Functions of other systems, and which of Spark's is meant."""

_COUNTED = frozenset(
    {
        "approx_percentile",
        "ceil",
        "char",
        "chr",
        "current_date",
        "current_timestamp",
        "floor",
        "initcap",
        "max_by",
        "min_by",
        "percentile",
        "percentile_approx",
    }
)
"""Functions of Spark whose arguments are written with nothing but commas between them."""


def report_calls_read_apart(work: Work) -> None:
    for call in work.calls.values():
        name = call.name.lower()
        if not call.certain or not {call.name, name}.isdisjoint(work.own_functions):
            continue
        if name in _FOREIGN:
            _report(work, "UnknownFunction", f"unknown function '{call.name}'", call.start, _FOREIGN[name])
        # A single argument may be a star, which stands for any number.
        elif name in _COUNTED and call.arguments != 1 and (message := wrong_count(call)) is not None:
            _report(work, "WrongArguments", message, call.start)


def _report(work: Work, code: str, message: str, offset: int, meant: str | None = None) -> None:
    hint = did_you_mean((meant,)) if meant is not None else None
    work.findings.append(Finding(DiagnosticSeverity.ERROR, code, message, offset, hint))
