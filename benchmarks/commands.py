"""Whole commands from start to exit: Tidegate cold and with a warm worker, a plain script and dbt, twelve models."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.bench_project import NAMESPACE, BenchProject, OtherSide, dbt_side, plain_side
from benchmarks.compiling import Target
from benchmarks.event_log import write_summary
from benchmarks.lake_rows import Content, LakeRows
from benchmarks.running import say
from benchmarks.statements import CHANGED_MODEL, STATEMENTS, changed_statement
from benchmarks.usage import Usage, run_measured
from tidegate.lake.branch_catalog import MAIN

__all__ = [
    "COMMAND_ROWS",
    "SCENARIOS",
    "CommandCase",
    "CommandMedians",
    "CommandOptions",
    "CommandTimes",
    "Scenario",
    "command_targets",
    "measure_commands",
]

COMMAND_ROWS = (1_000_000, 10_000_000)
_SMALL, _LARGE = COMMAND_ROWS
_KEEP_ALIVE = "15m"

CommandSide = Literal["plain", "dbt", "cold", "warm"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """`words`: Tidegate's command. `builds`: the other sides have a command for it too, and tables to compare."""

    name: str
    about: str
    words: tuple[str, ...] = ("run",)
    builds: bool = True
    needs_no_jvm: bool = False


SCENARIOS = (
    Scenario("first", "first run"),
    Scenario("nothing", "nothing changed", needs_no_jvm=True),
    Scenario("one", "1 % changed, reaching one reader of four"),
    Scenario("spread", "1 % changed, reaching all readers"),
    Scenario("model", "one model's SQL changed"),
    Scenario("preview", "`tidegate preview` of a table", ("preview", "gold.user_value"), False, True),
    Scenario("sql", "`tidegate sql` that counts", ("sql", "SELECT count(*) FROM silver.orders"), False),
)
"""In an order in which each has the state that it needs."""


class CommandCase(NamedTuple):
    rows: int
    scenario: str
    side: CommandSide


CommandTimes = Mapping[CommandCase, Sequence[Usage]]
"""Of each round; where there is a warm-up it is not among them."""


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """`warm_up`: a round before the others that does not count. `event_logs`: where to keep Spark's, if anywhere."""

    rows: Sequence[int] = COMMAND_ROWS
    rounds: int = 3
    scenarios: Collection[str] = tuple(scenario.name for scenario in SCENARIOS)
    warm_up: bool = True
    with_dbt: bool = True
    limit: float = 900
    event_logs: Path | None = None


def measure_commands(work: Path, options: CommandOptions) -> CommandTimes:
    times: dict[CommandCase, list[Usage]] = {}
    with closing(LakeRows(work)) as lake:
        for rows in options.rows:
            with closing(_CommandBench(work / f"commands-{rows}", rows, lake, options)) as bench:
                for number in range(0 if options.warm_up else 1, options.rounds + 1):
                    for case, usage in bench.measure_round(number):
                        if number:
                            times.setdefault(case, []).append(usage)
    return times


class _CommandBench:
    """The lakes and projects of one size. Each of Tidegate's sides has its own, as each is at its own state."""

    def __init__(self, folder: Path, rows: int, lake: LakeRows, options: CommandOptions) -> None:
        self.folder, self.rows, self.lake, self.options = folder, rows, lake, options
        self.projects: dict[CommandSide, BenchProject] = {
            "cold": BenchProject(folder / "cold", logs_events=options.event_logs is not None)
        }
        if _has_worker():
            self.projects["warm"] = BenchProject(folder / "warm", _KEEP_ALIVE)
        self.batch = 0

    def close(self) -> None:
        if "warm" in self.projects:
            warm = self.projects["warm"]
            subprocess.run(warm.command("worker", "stop"), env=warm.environment, check=False, capture_output=True)

    def measure_round(self, number: int) -> Iterator[tuple[CommandCase, Usage]]:
        say(f"{self.rows:,} rows, {f'round {number}' if number else 'warm-up'}")
        statements = dict(STATEMENTS)
        for side, project in self.projects.items():
            project.write(statements)
            self.lake.recreate(project, self.rows)
            if side == "warm":  # the process with Spark is there before the first run
                self._run(project, "sql", "SELECT 1")
        for scenario in SCENARIOS:
            chosen = scenario.name in self.options.scenarios
            if not chosen and scenario.name != "first":
                continue
            self.batch += 1
            self._change(scenario, statements)
            if chosen and scenario.builds:
                for side, other in self._others(statements).items():
                    yield self._measured(scenario, side, self._measure(other.command, other.folder, other.environment))
            for side, project in self.projects.items():
                usage = self._run(project, *self._words(side, scenario))
                if chosen:
                    yield self._measured(scenario, side, usage)
                    self._keep_event_log(project, scenario, number)
            if chosen and scenario.builds and not scenario.needs_no_jvm:
                self._compare(statements)

    def _words(self, side: CommandSide, scenario: Scenario) -> Sequence[str]:
        return (*scenario.words, "--no-worker") if side == "cold" and "warm" in self.projects else scenario.words

    def _change(self, scenario: Scenario, statements: dict[str, str]) -> None:
        if scenario.name in ("one", "spread"):
            for project in self.projects.values():
                self.lake.update(project, self.batch, views_only=scenario.name == "one")
        if scenario.name == "model":
            statements[CHANGED_MODEL] = changed_statement(self.batch)
            for project in self.projects.values():
                project.write(statements)

    def _others(self, statements: Mapping[str, str]) -> dict[CommandSide, OtherSide]:
        source = self.projects["cold"]
        others: dict[CommandSide, OtherSide] = {"plain": plain_side(self.folder / "plain", source, statements)}
        if self.options.with_dbt:
            others["dbt"] = dbt_side(self.folder / "dbt", source, statements)
        return others

    def _run(self, project: BenchProject, *words: str) -> Usage:
        return self._measure(project.command(*words), project.folder, project.environment)

    def _measure(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Usage:
        with self.lake.paused():
            return run_measured(command, folder, environment, self.options.limit, memory=False)

    def _measured(self, scenario: Scenario, side: CommandSide, usage: Usage) -> tuple[CommandCase, Usage]:
        java = "" if usage.started_java or side == "warm" else ", no JVM"
        say(f"  {scenario.name}, {side}: {usage.seconds:.2f} s, {usage.cpu:.2f} s of CPU{java}")
        return CommandCase(self.rows, scenario.name, side), usage

    def _compare(self, statements: Mapping[str, str]) -> None:
        """Gives up where a side has other rows than the plain script."""
        others = self._others(statements)
        found: dict[CommandSide, Content] = {}
        for side, other in others.items():
            found[side] = self.lake.content(other.conf, other.catalog, statements)
        for side, project in self.projects.items():
            found[side] = self.lake.content(project.lake_conf(), MAIN, statements, f"{NAMESPACE}.")
        for side, content in found.items():
            wrong = [table for table in statements if content[table] != found["plain"][table]]
            if wrong:
                raise SystemExit(f"{side} has other rows than the plain script in {', '.join(wrong)}")

    def _keep_event_log(self, project: BenchProject, scenario: Scenario, number: int) -> None:
        if self.options.event_logs is None or not project.logs_events:
            return
        self.options.event_logs.mkdir(parents=True, exist_ok=True)
        for log in project.event_logs.iterdir():
            kept = self.options.event_logs / f"{self.rows}-{scenario.name}-{number}.jsonl"
            log.replace(kept)
            write_summary(kept)


def _has_worker() -> bool:
    from tidegate.cli.main import COMMANDS

    return "worker" in COMMANDS


class CommandMedians:
    """A ratio is that of one round; then the median of all rounds is taken."""

    def __init__(self, times: CommandTimes) -> None:
        self.times = times

    @cached_property
    def sizes(self) -> Sequence[int]:
        return tuple(dict.fromkeys(case.rows for case in self.times))

    def seconds(self, case: CommandCase) -> float | None:
        return statistics.median(usage.seconds for usage in self.times[case]) if case in self.times else None

    def cpu(self, case: CommandCase) -> float | None:
        return statistics.median(usage.cpu for usage in self.times[case]) if case in self.times else None

    def ratio(self, case: CommandCase) -> float | None:
        plain = case._replace(side="plain")
        if case not in self.times or plain not in self.times:
            return None
        pairs = zip(self.times[case], self.times[plain], strict=True)
        return statistics.median(own.seconds / other.seconds for own, other in pairs)


_RATIOS: Mapping[tuple[str, CommandSide], tuple[Sequence[int], float]] = {
    ("first", "cold"): ((_SMALL,), 0.75),
    ("first", "warm"): ((_SMALL,), 0.45),
    ("nothing", "cold"): (COMMAND_ROWS, 0.08),
    ("nothing", "warm"): (COMMAND_ROWS, 0.08),
    ("one", "cold"): ((_SMALL,), 0.55),
    ("one", "warm"): ((_SMALL,), 0.20),
    ("spread", "cold"): ((_LARGE,), 0.75),
    ("spread", "warm"): ((_LARGE,), 0.40),
    ("model", "cold"): ((_SMALL,), 0.50),
    ("model", "warm"): ((_SMALL,), 0.20),
}
_SECONDS: Mapping[tuple[str, CommandSide], float] = {
    ("preview", "cold"): 1.5,
    ("preview", "warm"): 1.5,
    ("sql", "warm"): 1.0,
}


def command_targets(times: CommandTimes) -> list[Target]:
    """The promised figures, as far as they were measured."""
    median, found = CommandMedians(times), []
    for scenario in SCENARIOS:
        for side in ("cold", "warm"):
            for rows in median.sizes:
                case = CommandCase(rows, scenario.name, side)
                about = f"{scenario.about}, {side}, {rows:,} rows"
                sizes, limit = _RATIOS.get((scenario.name, side), ((), 0.0))
                ratio, seconds = median.ratio(case), median.seconds(case)
                if rows in sizes and ratio is not None:
                    found.append(Target(f"{about}, against the plain script", ratio, limit))
                if (scenario.name, side) in _SECONDS and seconds is not None:
                    found.append(Target(about, seconds, _SECONDS[scenario.name, side], " s"))
                if scenario.needs_no_jvm and side == "cold" and case in times:
                    started = sum(usage.started_java for usage in times[case])
                    found.append(Target(f"{about}, commands that started a JVM", started, 0))
    return found
