"""When each model of a run starts: random projects, in a time that only the models' own durations move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.config import RunSection
from tidegate.errors import SparkDiedError
from tidegate.names import TableName
from tidegate.planner.decide import RunType
from tidegate.project.model import Materialized
from tidegate.results import ModelResult
from tidegate.runs import scheduling
from tidegate.runs.build_order import expected_seconds
from tidegate.runs.context import BranchUse, RunContext
from tidegate.runs.control.cancellation import Cancellation
from tidegate.runs.control.guard import Guard
from tidegate.runs.model_threads import ModelThreads
from tidegate.runs.options import RunOptions
from tidegate.runs.scheduling import build_models
from tidegate.runs.tally import ModelOutcome, Outcomes

NEVER = float("inf")


def table(number: int) -> TableName:
    return TableName("shop", "a", f"t{number:02}")


@dataclass(frozen=True)
class Graph:
    """Models by number. A model reads only those of lower numbers."""

    reads: tuple[frozenset[int], ...]
    checks: tuple[frozenset[int], ...]
    """What their checks look at, also of lower numbers."""
    seconds: tuple[int, ...]
    views: frozenset[int] = frozenset()
    selected: frozenset[int] = frozenset()

    @property
    def tables(self) -> list[TableName]:
        return [table(number) for number in sorted(self.selected)]

    def waits(self, number: int) -> set[int]:
        """The selected models that it waits for, also through views that are not selected."""
        waits: set[int] = set()
        for upstream in self.reads[number] | self.checks[number]:
            if upstream in self.selected:
                waits.add(upstream)
            elif upstream in self.views:
                waits |= self.waits(upstream)
        return waits

    def sees(self, number: int) -> set[int]:
        """What it reads, also through views."""
        seen = set(self.reads[number])
        for upstream in self.reads[number] & self.views:
            seen |= self.sees(upstream)
        return seen

    @property
    def paths(self) -> dict[int, int]:
        """The seconds from the start of each to the end of the last that waits for it."""
        waits = {number: self.waits(number) for number in self.selected}
        paths: dict[int, int] = {}
        for number in sorted(self.selected, reverse=True):
            after = [path for other, path in paths.items() if number in waits[other]]
            paths[number] = self.seconds[number] + max(after, default=0)
        return paths

    def not_usable(self, failing: frozenset[int]) -> dict[int, str]:
        """As a run in waves ends: which models fail, and which are blocked because of those."""
        ends: dict[int, str] = {}
        for number in sorted(self.selected):
            if self.sees(number) & ends.keys():
                ends[number] = "blocked"
            elif number in failing:
                ends[number] = "failed"
        return ends


@st.composite
def graphs(draw: st.DrawFn, most: int = 9, all_selected: bool = False) -> Graph:
    count = draw(st.integers(1, most))
    subsets = st.frozensets(st.integers(0, most), max_size=3)
    reads = tuple(frozenset(n for n in draw(subsets) if n < number) for number in range(count))
    checks = tuple(frozenset(n for n in draw(subsets) if n < number - 2) for number in range(count))
    seconds = tuple(draw(st.lists(st.integers(1, 5), min_size=count, max_size=count)))
    everything = frozenset(range(count))
    if all_selected:
        return Graph(reads, checks, seconds, selected=everything)
    views, left_out = draw(subsets), draw(subsets)
    return Graph(reads, checks, seconds, views & everything, (everything - left_out) or everything)


@dataclass
class Simulation:
    """A run whose models take their seconds of a clock that nothing else moves."""

    graph: Graph
    failing: frozenset[int] = frozenset()
    killing: frozenset[int] = frozenset()
    """Under which the builder dies, whatever else is under way."""
    greedy: frozenset[int] = frozenset()
    """Under which it dies unless they are alone."""
    hanging: frozenset[int] = frozenset()
    """Which do not end when the run is cancelled."""
    most_restarts: int = 1_000
    fail_fast: bool = False
    cancel_at: float = NEVER
    workers: int = 1_000

    now: float = 0.0
    starts: list[tuple[float, TableName]] = field(default_factory=list)
    ends: dict[TableName, float] = field(default_factory=dict)
    """Of those that were built, or tried."""
    over: dict[TableName, float] = field(default_factory=dict)
    """When the outcome of each was known, also of the others."""
    died: bool = False
    why: str = "killed"
    running: list[tuple[float, TableName, Callable[[], ModelOutcome]]] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)

    def run(self, backwards: bool = False) -> Outcomes:
        tables = self.graph.tables[::-1] if backwards else self.graph.tables
        with patch.object(scheduling, "run_model", self.build):
            outcomes = build_models(self.context, tables, self.workers, threads=lambda count: cast(ModelThreads, self))
        assert outcomes.keys() == set(self.graph.tables)
        assert sorted(self.reported) == sorted(f"a.{t.name}" for t in outcomes if t not in self.ends)
        return outcomes

    @property
    def context(self) -> RunContext:
        graph, numbers = self.graph, range(len(self.graph.reads))
        compiled = SimpleNamespace(
            models={table(number): self.model(number) for number in numbers},
            upstreams={table(n): {table(other) for other in graph.reads[n] | graph.checks[n]} for n in numbers},
        )
        self.cancellation = Cancellation()
        limits = RunSection()
        return cast(
            RunContext,
            SimpleNamespace(
                compiled=compiled,
                decided={table(number): remembering(graph.seconds[number]) for number in numbers},
                builder=self,
                cancellation=self.cancellation,
                guard=Guard(limits, cast(Any, self), self.cancellation, lambda error: None, lambda *event: None),
                clock=self,
                unreadable={},
                options=RunOptions(fail_fast=self.fail_fast),
                settings=SimpleNamespace(run=limits),
                use=BranchUse(),
                values=None,
                short=lambda name: name.short("shop"),
                emit=self.emit,
            ),
        )

    def model(self, number: int) -> SimpleNamespace:
        kind = Materialized.VIEW if number in self.graph.views else Materialized.TABLE
        kinds = SimpleNamespace(materialized=kind, written_as="full_refresh")
        reads = tuple(table(other) for other in sorted(self.graph.reads[number]))
        return SimpleNamespace(depends_on=reads, sources=(), checks=(), model=SimpleNamespace(settings=kinds))

    def emit(self, name: str, model: str | None, data: Mapping[str, Any]) -> None:
        if name == "after_model_run":
            self.reported.append(model or "")
            self.over[TableName.parse(model or "", "shop")] = self.now

    def build(self, run: RunContext, name: TableName) -> ModelOutcome:
        """What comes of it, when its time is over."""
        number = int(name.name[1:])
        outcome = ModelOutcome(ModelResult(run.short(name), "completed", "full_refresh", "full", ""))
        if self.cancellation.requested:
            self.ends[name] = self.now
            return replaced(outcome, "cancelled")
        self.died = self.died or number in self.killing or (number in self.greedy and bool(self.running))
        if self.died:
            return ModelOutcome(replaced(outcome, "failed").result, lost=True)
        self.ends[name] = self.over[name] = self.now
        return replaced(outcome, "failed") if number in self.failing else outcome

    # As the builder.

    def restart(self) -> bool:
        assert not self.running
        if self.died and self.most_restarts:
            self.most_restarts -= 1
            self.died = False
        return not self.died

    def error(self, message: str) -> SparkDiedError:
        return SparkDiedError(message)

    # As the clock.

    def monotonic(self) -> float:
        return self.now

    # As the threads.

    def start(self, name: TableName, build: Callable[[], ModelOutcome]) -> None:
        assert len(self.running) < self.workers
        self.starts.append((self.now, name))
        heappush(self.running, (self.now + self.graph.seconds[int(name.name[1:])], name, build))

    def wait(self, seconds: float) -> dict[TableName, ModelOutcome]:
        """All that end at the next moment. A cancel ends at once what does not hang."""
        if self.running[0][0] > self.cancel_at and not self.cancellation.requested:
            self.now = self.cancel_at
            self.cancellation.request()
            stays = [each for each in self.running if int(each[1].name[1:]) in self.hanging]
            ending = [each for each in self.running if each not in stays]
            self.running = [(NEVER, name, build) for _, name, build in stays]
            return {name: build() for _, name, build in ending}
        moment = self.running[0][0]
        if moment == NEVER:
            self.now += seconds
            return {}
        self.now, ended = moment, {}
        while self.running and self.running[0][0] == moment:
            _, name, build = heappop(self.running)
            ended[name] = build()
        return ended

    def close(self, abandon: bool) -> None:
        assert abandon or not self.running

    def busy(self, moment: float) -> int:
        return sum(start <= moment < self.ends[name] for start, name in self.starts)

    def expect_waits_kept(self) -> None:
        for start, name in self.starts:
            for other in self.graph.waits(int(name.name[1:])):
                assert self.over[table(other)] <= start


def remembering(seconds: float) -> SimpleNamespace:
    """A plan whose table remembers how long it took."""
    progress = SimpleNamespace(duration_ms=seconds * 1000, full_ms=0)
    return SimpleNamespace(progress=progress, decision=SimpleNamespace(run_type=RunType.FULL))


def replaced(outcome: ModelOutcome, status: str) -> ModelOutcome:
    result = ModelResult(outcome.result.model, status, "full_refresh", "full", "", failure_kind="Unknown")
    return ModelOutcome(result)


def ends_of(outcomes: Outcomes) -> dict[int, str]:
    """Of those that were not built."""
    ended = {int(name.name[1:]): outcome.result.status for name, outcome in outcomes.items()}
    return {number: status for number, status in ended.items() if status != "completed"}


NUMBERS = st.frozensets(st.integers(0, 8), max_size=4)


@given(graphs(), NUMBERS, st.integers(1, 4))
def test_models_wait_for_their_own_upstreams_and_end_as_in_waves(
    graph: Graph, failing: frozenset[int], workers: int
) -> None:
    run = Simulation(graph, failing, workers=workers)
    outcomes = run.run()
    run.expect_waits_kept()
    assert ends_of(outcomes) == graph.not_usable(failing)
    blocked = {name for name, outcome in outcomes.items() if outcome.result.status == "blocked"}
    assert sorted(name for _, name in run.starts) == sorted(outcomes.keys() - blocked)


@given(graphs())
def test_with_enough_workers_the_longest_path_is_all_that_a_run_takes(graph: Graph) -> None:
    run = Simulation(graph)
    run.run()
    assert run.now == max(graph.paths.values())


@given(graphs(), st.integers(1, 4))
def test_no_worker_is_idle_while_a_model_is_ready_and_the_longest_path_goes_first(graph: Graph, workers: int) -> None:
    run = Simulation(graph, workers=workers)
    run.run()
    ready = {
        table(number): max((run.ends[table(other)] for other in graph.waits(number)), default=0)
        for number in graph.selected
    }
    paths = graph.paths
    for place, (start, name) in enumerate(run.starts):
        moments = {ready[name], *(end for end in run.ends.values() if ready[name] < end < start)}
        assert start == ready[name] or all(run.busy(moment) == workers for moment in moments)
        later = [other for _, other in run.starts[place + 1 :] if ready[other] <= start]
        first = min([name, *later], key=lambda each: (-paths[int(each.name[1:])], each))
        assert first == name


@given(graphs(), NUMBERS, st.integers(1, 4))
def test_the_order_is_the_same_each_time(graph: Graph, failing: frozenset[int], workers: int) -> None:
    runs = [Simulation(graph, failing, workers=workers) for _ in range(2)]
    outcomes = [run.run(backwards=bool(number)) for number, run in enumerate(runs)]
    assert runs[0].starts == runs[1].starts
    assert outcomes[0] == outcomes[1]


@given(graphs(), NUMBERS, st.integers(1, 4))
def test_after_a_failure_nothing_starts_where_the_first_one_ends_the_run(
    graph: Graph, failing: frozenset[int], workers: int
) -> None:
    run = Simulation(graph, failing, workers=workers, fail_fast=True)
    ends = ends_of(run.run())
    run.expect_waits_kept()
    failed = [run.ends[table(number)] for number, status in ends.items() if status == "failed"]
    assert bool(failed) == bool(graph.not_usable(failing))
    assert all(start < min(failed, default=NEVER) for start, _ in run.starts)
    assert len(run.starts) + list(ends.values()).count("blocked") == len(graph.selected)


@given(graphs(), NUMBERS, NUMBERS, NUMBERS, st.integers(1, 4))
def test_of_models_under_which_the_builder_dies_those_fail_that_kill_it_alone(
    graph: Graph, failing: frozenset[int], killing: frozenset[int], greedy: frozenset[int], workers: int
) -> None:
    run = Simulation(graph, failing, killing, greedy, workers=workers)
    assert ends_of(run.run()) == graph.not_usable(failing | killing)
    run.expect_waits_kept()


def test_the_builder_is_not_started_again_for_models_that_are_blocked() -> None:
    none = frozenset[int]()
    graph = Graph((none, frozenset({0})), (none, none), (1, 1), selected=frozenset({0, 1}))
    run = Simulation(graph, killing=frozenset({0}), most_restarts=1)
    assert (ends_of(run.run()), run.most_restarts) == ({0: "failed", 1: "blocked"}, 1)


def test_what_a_thread_raises_is_raised_when_the_others_have_ended() -> None:
    none = frozenset[int]()
    graph = Graph((none, none, none), (none, none, none), (2, 1, 1), selected=frozenset({0, 1, 2}))
    run = Simulation(graph, workers=2)
    wait = run.wait

    def fail(seconds: float) -> dict[TableName, Any]:
        return {name: RuntimeError("no") if name == table(1) else outcome for name, outcome in wait(seconds).items()}

    with patch.object(run, "wait", fail), pytest.raises(RuntimeError, match="no"):
        run.run()
    assert [name for _, name in run.starts] == [table(0), table(1)]
    assert run.ends.keys() == {table(0), table(1)}


@given(graphs(), NUMBERS, st.integers(1, 4), st.integers(0, 2))
def test_where_the_builder_dies_too_often_the_rest_is_not_tried(
    graph: Graph, killing: frozenset[int], workers: int, most_restarts: int
) -> None:
    run = Simulation(graph, killing=killing, workers=workers, most_restarts=most_restarts)
    outcomes = run.run()
    ends, expected = ends_of(outcomes), graph.not_usable(killing)
    assert {number for number, status in ends.items() if status == "failed"} <= killing
    assert ends.keys() >= expected.keys()
    extra = [outcomes[table(number)].result.reason for number in ends.keys() - expected.keys()]
    assert all("Spark's JVM ended too often" in reason or "upstream failed" in reason for reason in extra)
    assert not extra or run.died


@given(graphs(), NUMBERS, st.integers(1, 4), st.integers(0, 12))
def test_a_cancelled_run_starts_nothing_and_leaves_alone_what_does_not_end(
    graph: Graph, hanging: frozenset[int], workers: int, moment: int
) -> None:
    run = Simulation(graph, hanging=hanging, workers=workers, cancel_at=moment + 0.5)
    outcomes = run.run()
    assert all(start <= moment for start, _ in run.starts)
    assert set(ends_of(outcomes).values()) <= {"cancelled"}
    hung = [int(name.name[1:]) for _, name, _ in run.running]
    assert run.now <= moment + 2.1
    assert set(hung) <= hanging
    for number in hung:
        assert outcomes[table(number)].result.duration_ms >= 1500
    built = {name for name, outcome in outcomes.items() if outcome.result.status == "completed"}
    assert built == {name for name, end in run.ends.items() if end <= moment}


@settings(max_examples=200)
@given(graphs(most=8, all_selected=True), st.integers(2, 3))
def test_the_longest_path_first_is_never_much_longer_than_it_must_be(graph: Graph, workers: int) -> None:
    """Of any order without idle workers: at most twice what no order can go below."""
    run = Simulation(graph, workers=workers)
    run.run()
    least = max(max(graph.paths.values()), sum(graph.seconds) / workers)
    assert run.now < 2 * least


@pytest.mark.parametrize(
    ("plans", "seconds"),
    [
        ({}, [1, 1, 1]),
        ({0: (4, 0), 1: (8, 0)}, [4, 8, 6]),
        ({0: (2, 9), 2: (0, 0)}, [9, 9, 9]),
    ],
)
def test_a_model_takes_what_its_table_remembers_or_as_long_as_most(
    plans: dict[int, tuple[int, int]], seconds: list[float]
) -> None:
    """Of a rebuild what the last one took, not the last update from changes."""
    decided = {table(number): remembering(0) for number in plans}
    for number, (last, whole) in plans.items():
        decided[table(number)].progress.duration_ms = last * 1000
        decided[table(number)].progress.full_ms = whole * 1000
    tables = [table(number) for number in range(3)]
    assert list(expected_seconds(cast(Any, decided), tables).values()) == seconds
