"""How long the phases of a run took: added up over its models, and by the clock on the wall."""

from __future__ import annotations

from tests.projects import FakeClock
from tidegate.runs.context import Phases, PhaseSpans


def test_phases_side_by_side_count_once_on_the_wall() -> None:
    spans = PhaseSpans()
    for name, began, ended in [("build", 0, 4), ("build", 1, 3), ("write", 2, 5), ("build", 3, 6), ("build", 8, 9)]:
        spans.add(name, began, ended)
    assert spans.wall_ms() == {"build": 7000, "write": 3000}


def test_what_is_timed_for_each_model_is_gathered_for_the_run() -> None:
    clock, spans = FakeClock(), PhaseSpans()
    first, second = Phases(clock, spans), Phases(clock, spans)
    with first.timed("build_result"), second.timed("build_result"):
        pass  # the clock moves by a millisecond whenever it is read
    assert (first.ms, second.ms) == ({"build_result": 3}, {"build_result": 1})
    assert spans.wall_ms() == {"build_result": 3}
