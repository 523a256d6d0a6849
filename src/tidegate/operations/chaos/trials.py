"""Chaos from top to bottom: run once undisturbed, then kill at one point after another and look at what is left."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from tidegate.compiler import compile_from_disk
from tidegate.compiler.compiled import Compiled
from tidegate.config import Settings
from tidegate.errors import ConfigError, ProjectError, RunCancelledError, TidegateError
from tidegate.faults import FAULT, FAULT_LOG
from tidegate.lake import MAIN, Heads, is_initialized, open_catalog
from tidegate.names import TableName
from tidegate.operations.chaos.kills import (
    RESUME,
    ChaosReport,
    Kill,
    KillRequest,
    Trial,
    Uninterrupted,
    choose,
    counted,
    not_reached,
)
from tidegate.operations.chaos.lake_copy import Landing, Scratch, list_landing, make_scratch, require_place
from tidegate.operations.chaos.main_states import Contents, MainObserver, State, differences, mixes, together
from tidegate.operations.chaos.victim import Ended, kill_at
from tidegate.operations.reap import reap
from tidegate.operations.run import run_project
from tidegate.runs.clock import FixedClock
from tidegate.runs.options import LATEST, RunOptions
from tidegate.runs.reads import owned_tables
from tidegate.runs.result import RunResult
from tidegate.spark.session import open_spark
from tidegate.state import open_reader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run_chaos"]

_LEAST_SECONDS = 300.0
"""A process that is to be killed is given so long, or twenty times what the undisturbed run took."""

_NOT_DETERMINISTIC = "its query is not deterministic"

Notify = Callable[[str], None]
OnTrial = Callable[[Trial], None]


@dataclass(frozen=True, slots=True)
class _Reference:
    """The undisturbed run that trials are compared with. `whole`: main before it, after it, and after one more;
    `landing`: after it."""

    result: RunResult
    lines: tuple[str, ...]
    whole: tuple[State, State, State]
    landing: Landing
    seconds: float


def run_chaos(
    settings: Settings,
    options: RunOptions = RunOptions(),  # noqa: B008 - frozen
    request: KillRequest = KillRequest(),  # noqa: B008 - frozen
    keep: bool = False,
    notify: Notify = lambda line: None,
    on_trial: OnTrial = lambda trial: None,
    root: SparkSession | None = None,
) -> ChaosReport:
    """`on_trial` receives each trial as it ends. The scratch folder is kept where a trial failed, and with `keep`."""
    started = time.monotonic()
    require_place(settings.lake)
    if os.environ.get(FAULT):
        raise ConfigError(
            f"{FAULT} is set, and would end chaos itself", remedy="Unset it, and name the point: --points."
        )
    folder = Path(tempfile.mkdtemp(prefix="tidegate-chaos-"))
    notify(f"Chaos on a copy of the lake ({settings.lake.catalog} catalog) in {folder}; the lake itself is not touched")
    if not settings.state.url.startswith("sqlite"):
        notify("The copies keep their history of runs in SQLite files, not in the database of [state]")
    keep_folder = False
    try:
        chaos = _Chaos(settings, options, folder, keep, lambda: open_spark(settings, notify, root))
        measure = chaos.measure()
        notify(_summary(measure))
        trials = []
        for kill in choose(measure.lines, request):
            trials.append(chaos.attempt(kill, measure))
            on_trial(trials[-1])
        keep_folder = keep or any(not trial.passed for trial in trials)
    finally:
        if not keep_folder:
            shutil.rmtree(folder, ignore_errors=True)
    return ChaosReport(
        catalog=settings.lake.catalog,
        uninterrupted=Uninterrupted(
            measure.result.status, len(measure.result.materializations), measure.seconds, counted(measure.lines)
        ),
        trials=tuple(trials),
        left_out={f"{table.layer}.{table.name}": why for table, why in sorted(chaos.left_out.items())},
        not_reached=not_reached(measure.lines),
        seconds=round(time.monotonic() - started, 1),
        folder=str(folder) if keep_folder else None,
    )


class _Chaos:
    def __init__(
        self, settings: Settings, options: RunOptions, folder: Path, keep: bool, spark: Callable[[], SparkSession]
    ) -> None:
        self.settings = settings
        self.options = replace(options, confirmed=True)
        self.folder = folder
        self.keep = keep
        # With the time of day held still, all runs write the same times.
        self.clock = FixedClock(datetime.now(UTC))
        self.heads: Heads = open_catalog(settings).head(MAIN) if is_initialized(settings) else {}
        self.compiled = self._compile()
        self.left_out = _left_out(self.compiled)
        self.contents = Contents(spark, owned_tables(self.compiled, self.left_out))
        self.token = uuid4().hex[:6]
        self.number = 0

    def _compile(self) -> Compiled:
        compiled, _ = compile_from_disk(self.settings, self.heads, self.options.vars)
        if compiled.errors:
            raise ProjectError("The project has errors; nothing was run", diagnostics=compiled.diagnostics)
        return compiled

    def measure(self) -> _Reference:
        scratch = self._scratch("uninterrupted")
        try:
            return self._measure(scratch)
        finally:
            if not self.keep:
                scratch.remove()

    def _measure(self, scratch: Scratch) -> _Reference:
        before, started = scratch.catalog.head(MAIN), time.monotonic()
        log = scratch.folder / "points.txt"
        with _logging_points(log):
            result = self._run(scratch, self.options)
        if result.status == "skipped":
            raise TidegateError(
                "There is nothing to kill: every table is up to date, so a run builds none",
                remedy="Add --full-refresh, which rebuilds them on the copy, or wait until new data has arrived.",
            )
        if result.status == "failed":
            raise TidegateError(
                f"The project does not run on a copy of its lake: {_why(result)}",
                remedy="Chaos compares with a run that was not disturbed: see what `tidegate run` reports.",
            )
        seconds = time.monotonic() - started
        once, landing = self._state(scratch), list_landing(scratch.settings.landing.root)
        self._run(scratch, self.options)
        whole = (self.contents.of(scratch.catalog, before), once, self._state(scratch))
        return _Reference(result, tuple(log.read_text().splitlines()), whole, landing, round(seconds, 1))

    def attempt(self, kill: Kill, measure: _Reference) -> Trial:
        started = time.monotonic()
        scratch, left = self._scratch(f"{kill.at}-{kill.way}"), ""
        try:
            problems = tuple(dict.fromkeys(self._attempt(kill, measure, scratch)))
        except BaseException:
            scratch.remove()
            raise
        if problems or self.keep:
            scratch.leave()
            left = " and ".join(filter(None, (str(scratch.folder), scratch.outside)))
        else:
            scratch.remove()
        return Trial(str(kill.at), kill.way, round(time.monotonic() - started, 1), problems, left)

    def _attempt(self, kill: Kill, measure: _Reference, scratch: Scratch) -> Iterator[str]:
        with MainObserver(scratch.catalog) as reader:
            patience = max(_LEAST_SECONDS, 20 * measure.seconds)
            ended = kill_at(kill.at, scratch, self.options, self.clock.now(), patience)
            if not ended.killed:
                yield _not_killed(ended)
                return
            reader.look()
            yield from self._continue(kill, measure, scratch)
            final = reader.look()
        yield from reader.failures
        yield from self._verdict(measure, scratch, reader.history, final)

    def _continue(self, kill: Kill, measure: _Reference, scratch: Scratch) -> Iterator[str]:
        """The same run again, or the killed one resumed; then whatever it left is cleaned up."""
        resumed = RunOptions(resume=LATEST, vars=self.options.vars)
        options = resumed if kill.way == RESUME else self.options
        try:
            result = self._run(scratch, options)
        except RunCancelledError:
            raise
        except TidegateError as error:
            yield f"the {kill.way} was refused: {error}"
        else:
            if result.exit_code != measure.result.exit_code:
                why = _why(result)
                outcome = f"the {kill.way} ended as {result.status}, not as {measure.result.status}"
                yield f"{outcome}: {why}" if why else outcome
        hours = self.settings.reaper.orphan_branch_max_age_hours + 1
        yield from reap(scratch.settings, FixedClock(datetime.now(UTC) + timedelta(hours=hours))).errors
        if branches := [branch.name for branch in scratch.catalog.list_branches()]:
            yield f"branches are left: {', '.join(branches)}"
        with open_reader(scratch.settings.state.url) as reader:
            unfinished = [run.run_id for run in reader.unfinished_runs(self.settings.project.name)]
        if unfinished:
            yield f"the history records {', '.join(unfinished)} as still running"

    def _verdict(self, measure: _Reference, scratch: Scratch, history: Iterable[Heads], final: Heads) -> Iterator[str]:
        catalog = scratch.catalog
        states = [self.contents.of(catalog, heads) for heads in history]
        tables = {table for state in (*measure.whole, *states) for table in state}
        mode = self.options.publish or self.settings.run.publish
        groups = together(mode, tables, self.compiled.waves)
        for state in states:
            yield from mixes(state, measure.whole, groups)
        yield from differences(self.contents.of(catalog, final), measure.whole[1:])
        if list_landing(scratch.settings.landing.root) != measure.landing:
            yield "landing files are not where the undisturbed run leaves them"

    def _run(self, scratch: Scratch, options: RunOptions) -> RunResult:
        result = run_project(scratch.settings, options, clock=self.clock)
        if result.status == "cancelled":
            raise RunCancelledError("Cancelled")
        return result

    def _state(self, scratch: Scratch) -> State:
        catalog = scratch.catalog
        return self.contents.of(catalog, catalog.head(MAIN))

    def _scratch(self, title: str) -> Scratch:
        self.number += 1
        folder = self.folder / f"{self.number:03d}-{title.replace(':', '-').replace('@', '-')}"
        return make_scratch(self.settings, self.heads, folder, f"tidegate_chaos_{self.token}_{self.number}")


@contextmanager
def _logging_points(log: Path) -> Iterator[None]:
    os.environ[FAULT_LOG] = str(log)
    try:
        yield
    finally:
        del os.environ[FAULT_LOG]


def _left_out(compiled: Compiled) -> Mapping[TableName, str]:
    """Models whose tables are others each time, and all that is built from them, with the reason."""
    reasons: dict[TableName, str] = {}
    for table in (table for wave in compiled.waves for table in wave):
        model = compiled.models[table]
        source = next((upstream for upstream in model.depends_on if upstream in reasons), None)
        if not model.deterministic:
            reasons[table] = _NOT_DETERMINISTIC
        elif source is not None:
            reasons[table] = f"it reads {source.layer}.{source.name}"
    return reasons


def _not_killed(ended: Ended) -> str:
    if ended.code is None:
        return "the run neither reached the point nor ended in time, and was killed"
    return f"the run ended with exit code {ended.code} and did not reach the point: {ended.output or 'no output'}"


def _why(result: RunResult) -> str:
    """The run's error, or that of its first model that failed."""
    errors = (materialization.error for materialization in result.materializations)
    return result.error or next(filter(None, errors), "")


def _summary(measure: _Reference) -> str:
    result, points = measure.result, counted(measure.lines)
    return (
        f"Undisturbed run: {result.status}, {len(result.materializations)} models, {len(points)} fault points"
        f" reached, {measure.seconds:.1f} s"
    )
