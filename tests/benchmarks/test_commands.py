"""What whole commands took is held to the promised ratios, and the page shows what was measured and nothing else."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bench_project import BenchProject
from benchmarks.commands import CommandCase, CommandMedians, CommandTimes, command_targets
from benchmarks.commands_report import command_section
from benchmarks.statements import CHANGED_MODEL, SOURCE, STATEMENTS, changed_statement
from benchmarks.usage import Usage

from tidegate.compiler import compile_from_disk
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import MAIN

SMALL = 1_000_000


def _took(*seconds: float, java: bool = True) -> list[Usage]:
    return [Usage(second, 2 * second, 0, java) for second in seconds]


TIMES: CommandTimes = {
    CommandCase(SMALL, "first", "plain"): _took(10, 20, 16),
    CommandCase(SMALL, "first", "cold"): _took(8, 10, 16),
    CommandCase(SMALL, "nothing", "plain"): _took(16, 16, 16),
    CommandCase(SMALL, "nothing", "cold"): _took(1, 1, 9, java=False),
    CommandCase(SMALL, "preview", "cold"): [Usage(1.2, 1, 0), Usage(1.4, 1, 0), Usage(2, 1, 0, True)],
}


def test_a_ratio_is_that_of_a_round() -> None:
    assert CommandMedians(TIMES).ratio(CommandCase(SMALL, "first", "cold")) == 0.8
    assert CommandMedians(TIMES).ratio(CommandCase(SMALL, "preview", "cold")) is None


def test_targets_are_those_of_what_was_measured() -> None:
    assert [(target.about, target.met) for target in command_targets(TIMES)] == [
        ("first run, cold, 1,000,000 rows, against the plain script", False),
        ("nothing changed, cold, 1,000,000 rows, against the plain script", True),
        ("nothing changed, cold, 1,000,000 rows, commands that started a JVM", True),
        ("`tidegate preview` of a table, cold, 1,000,000 rows", True),
        ("`tidegate preview` of a table, cold, 1,000,000 rows, commands that started a JVM", False),
    ]


def test_the_page_has_no_column_of_what_was_not_measured() -> None:
    section = command_section(TIMES, 3, warm_up=True)
    assert "| first run | 16.00 | 32.00 | 10.00 | 20.00 | 0.80 |" in section
    assert "| `tidegate preview` of a table | – | – | 1.40 | 1.00 | – |" in section
    assert "warm (s)" not in section
    assert "dbt (s)" not in section
    warm = {**TIMES, CommandCase(SMALL, "first", "warm"): _took(5, 5, 5)}
    assert "warm (s)" in command_section(warm, 3, warm_up=True)


def test_the_project_compiles_and_four_models_read_the_source(tmp_path: Path) -> None:
    BenchProject(tmp_path).write({**STATEMENTS, CHANGED_MODEL: changed_statement(1)})
    settings = load_settings(tmp_path)
    compiled, _ = compile_from_disk(settings, open_catalog(settings).head(MAIN), {})
    assert not compiled.errors
    assert len(compiled.models) == len(STATEMENTS) == 12
    assert sum(SOURCE in text for text in STATEMENTS.values()) == 4
    assert changed_statement(1) != changed_statement(2)
