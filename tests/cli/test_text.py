"""Diagnostics, tables and values as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.cli.diagnostics import count_line, render_diagnostic
from tidegate.cli.table import duration, size, text_table
from tidegate.compiler.values import Diagnostic, DiagnosticSeverity, Span


def test_a_diagnostic_shows_the_line_with_a_marker_and_the_help(tmp_path: Path) -> None:
    (tmp_path / "orders.sql").write_text("SELECT *\n\tFROM silver.order -- here\n")
    diagnostic = Diagnostic(
        DiagnosticSeverity.ERROR,
        "TG201",
        "unknown table silver.order",
        "gold.orders",
        Span("orders.sql", 2, 7),
        "did you mean silver.orders?",
    )
    assert list(render_diagnostic(diagnostic, tmp_path)) == [
        "error[TG201]: unknown table silver.order",
        " --> orders.sql:2:7",
        "  |",
        "2 |  FROM silver.order -- here",
        "  |       ^^^^^^^^^^^^",
        "  = help: did you mean silver.orders?",
    ]


@pytest.mark.parametrize(("line", "col"), [(9, 1), (1, 99), (0, 0)])
def test_a_span_outside_its_file_still_gives_the_message(tmp_path: Path, line: int, col: int) -> None:
    (tmp_path / "a.sql").write_text("SELECT 1")
    diagnostic = Diagnostic(DiagnosticSeverity.WARNING, "TG1", "odd", None, Span("a.sql", line, col))
    assert next(render_diagnostic(diagnostic, tmp_path)) == "warning[TG1]: odd"
    assert list(render_diagnostic(diagnostic, tmp_path / "gone"))[1].endswith(f"a.sql:{line}:{col}")


def test_diagnostics_are_counted_by_severity() -> None:
    kinds = [DiagnosticSeverity.WARNING, DiagnosticSeverity.ERROR, DiagnosticSeverity.ERROR]
    assert count_line(Diagnostic(kind, "TG1", "x") for kind in kinds) == "2 errors, 1 warning"


def test_a_table_aligns_numbers_right_and_keeps_odd_text_on_its_line() -> None:
    rows = [("a\nb", "1", "x" * 20), ("日本", "200", "NULL")]
    assert list(text_table(("name", "n", "text"), rows, widest=10)) == [
        "name    n  text",
        "----  ---  ----------",
        "a\\nb    1  xxxxxxxxx…",
        "日本  200  NULL",
    ]


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0ms"), (999, "999ms"), (2100, "2.1s"), (59_949, "59.9s"), (59_960, "1m 00s"), (7_620_000, "2h 07m")],
)
def test_durations_are_short(milliseconds: int, text: str) -> None:
    assert duration(milliseconds) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 * 2**40, "5.0 TiB")])
def test_sizes_have_a_fitting_unit(count: int, text: str) -> None:
    assert size(count) == text
