"""Diagnostics, tables and values as text."""

from __future__ import annotations

import io
from pathlib import Path

import click
import pytest

from tidegate.amounts import duration, size
from tidegate.cli.error_text import render_diagnostics
from tidegate.cli.terminal import TextTable, painter, plain, print_lines
from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity, Span, count_line

ERROR, WARNING, INFO = DiagnosticSeverity


def told(code: str, message: str, file: str, line: int = 1, severity: DiagnosticSeverity = ERROR) -> Diagnostic:
    return Diagnostic(severity, code, message, None, Span(file, line, 1))


def test_a_diagnostic_shows_the_line_with_a_marker_and_the_help(tmp_path: Path) -> None:
    (tmp_path / "orders.sql").write_text("SELECT *\n\tFROM silver.order -- here\n")
    diagnostic = Diagnostic(
        ERROR,
        "UnknownDependency",
        "unknown table silver.order",
        "gold.orders",
        Span("orders.sql", 2, 7),
        "did you mean silver.orders?",
    )
    assert list(render_diagnostics([diagnostic], tmp_path)) == [
        "error[UnknownDependency]: unknown table silver.order",
        " --> orders.sql:2:7",
        "  |",
        "2 |  FROM silver.order -- here",
        "  |       ^^^^^^^^^^^^",
        "  = help: did you mean silver.orders?",
        "",
    ]


@pytest.mark.parametrize(("line", "col"), [(9, 1), (1, 99), (0, 0)])
def test_a_span_outside_its_file_still_gives_the_message(tmp_path: Path, line: int, col: int) -> None:
    (tmp_path / "a.sql").write_text("SELECT 1")
    diagnostic = Diagnostic(WARNING, "TG1", "odd", None, Span("a.sql", line, col))
    assert next(render_diagnostics([diagnostic], tmp_path)) == "warning[TG1]: odd"
    assert list(render_diagnostics([diagnostic], tmp_path / "gone"))[1].endswith(f"a.sql:{line}:{col}")


def test_a_diagnostic_without_a_place_names_its_model(tmp_path: Path) -> None:
    diagnostic = Diagnostic(INFO, "TG1", "old", "silver.orders", None, "look at it")
    assert list(render_diagnostics([diagnostic], tmp_path)) == [
        "info[TG1]: old (silver.orders)",
        " = help: look at it",
        "",
    ]


@pytest.mark.parametrize(
    ("source", "col", "shown", "marker"),
    [
        ("日本 = x", 6, "日本 = x", "       ^"),
        ("a\x1b[31m b", 1, "a\\x1b[31m b", "^"),
        ("e\u0301 x", 4, "e\u0301 x", "  ^"),
    ],
    ids=["wide", "control", "combining"],
)
def test_the_marker_stands_below_its_word_whatever_is_before_it(
    tmp_path: Path, source: str, col: int, shown: str, marker: str
) -> None:
    (tmp_path / "a.sql").write_text(source)
    lines = list(render_diagnostics([Diagnostic(ERROR, "TG1", "odd", None, Span("a.sql", 1, col))], tmp_path))
    assert lines[3:5] == [f"1 | {shown}", f"  | {marker}"]


def test_of_a_very_long_line_only_the_surroundings_are_shown(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("a, " * 500 + "wrong" + ", b" * 500)
    lines = list(render_diagnostics([Diagnostic(ERROR, "TG1", "odd", None, Span("a.sql", 1, 1501))], tmp_path))
    text, marker = lines[3].removeprefix("1 | "), lines[4].removeprefix("  | ")
    assert len(text) < 200
    assert text[marker.index("^") : marker.rindex("^") + 1] == "wrong"
    assert text.startswith("…")
    assert text.endswith("…")


def test_what_says_the_same_in_many_places_is_told_once(tmp_path: Path) -> None:
    lines = list(render_diagnostics([told("TG1", "no such table", f"{n}.sql") for n in range(9)], tmp_path))
    assert lines == [
        "error[TG1]: no such table",
        " --> 0.sql:1:1",
        "  = also at: 1.sql:1:1, 2.sql:1:1, 3.sql:1:1, 4.sql:1:1, 5.sql:1:1 and 3 more",
        "",
    ]
    few = list(render_diagnostics([told("TG1", "no such table", f"{n}.sql") for n in range(3)], tmp_path))
    assert few.count("error[TG1]: no such table") == 3


def test_of_very_many_diagnostics_the_errors_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    many = [told("TG1", f"odd {n}", "a.sql", n + 1, WARNING) for n in range(8)]
    many += [told("TG2", f"wrong {n}", "b.sql", n + 1) for n in range(3)]
    lines = list(render_diagnostics(many, tmp_path, most=4))
    heads = [line for line in lines if "[TG" in line]
    assert heads == ["warning[TG1]: odd 0", "error[TG2]: wrong 0", "error[TG2]: wrong 1", "error[TG2]: wrong 2"]
    assert lines[-2] == "… and 7 warnings more; `tidegate compile --json` has all"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_and_only_where_it_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    diagnostic = told("TG1", "odd", "a.sql")
    in_colour = "\n".join(render_diagnostics([diagnostic], tmp_path, painter(Terminal())))
    without = "\n".join(render_diagnostics([diagnostic], tmp_path))
    assert "\x1b[31m" in in_colour
    assert click.unstyle(in_colour) == without
    assert painter(io.StringIO()) is plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert painter(Terminal()) is plain
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert painter(Terminal()) is plain


def test_diagnostics_are_counted_by_severity() -> None:
    kinds = [WARNING, ERROR, ERROR, INFO]
    assert count_line(Diagnostic(kind, "TG1", "x") for kind in kinds) == "2 errors, 1 warning, 1 note"
    assert count_line([]) == ""


def test_a_table_aligns_numbers_right_and_keeps_odd_text_on_its_line() -> None:
    rows = [("a\nb", "1", "x" * 20), ("日本", "200", "NULL")]
    assert list(TextTable(("name", "n", "text"), rows, widest=10).lines()) == [
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


def test_a_diagnostic_without_a_suggestion_of_its_own_shows_what_usually_helps(tmp_path: Path) -> None:
    message = "'+' cannot be applied to string and date"
    lines = list(render_diagnostics([told("TypeMismatch", message, "a.sql")], tmp_path))
    assert "  = help: Cast one side, or use the column that was meant." in lines


def test_a_table_folds_long_text_on_a_terminal_and_is_one_line_a_row_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    table = TextTable(("run", "rows", "error"), [("run-1", "12", "the [bold]gate is closed, and stays so")])
    terminal, pipe = Terminal(), io.StringIO()
    table.print(terminal, color=False)
    table.print(pipe)
    assert [line.rstrip() for line in click.unstyle(terminal.getvalue()).splitlines()] == [
        "run    rows  error",
        "run-1    12  the [bold]gate is closed,",
        "             and stays so",
    ]
    assert pipe.getvalue().splitlines() == list(table.lines())


@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_table_without_colour_has_no_escape_at_all(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    table, coloured, without = TextTable(("run", "rows"), [("run-1", "12")]), Terminal(), Terminal()
    table.print(coloured)
    if by == "variable":
        monkeypatch.setenv("NO_COLOR", "1")
    table.print(without, color=by == "variable")
    assert "\x1b[1m" in coloured.getvalue()
    assert without.getvalue() == click.unstyle(coloured.getvalue())


def test_lines_reach_a_pipe_before_the_command_goes_on() -> None:
    pipe = io.BytesIO()
    stream = io.TextIOWrapper(pipe, encoding="utf-8")
    print_lines(["first day"], stream)
    assert pipe.getvalue() == b"first day\n"


def test_a_table_too_wide_to_fold_is_written_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    table = TextTable([f"column_{i}" for i in range(9)], [["value"] * 9])
    terminal = Terminal()
    table.print(terminal)
    assert terminal.getvalue().splitlines() == list(table.lines())
