"""What chaos kills at, and what it takes for wrong: no lake and no Spark are needed for that."""

from __future__ import annotations

import json

import pytest

from tidegate.errors import ConfigError
from tidegate.names import TableName
from tidegate.operations.chaos.kills import (
    ChaosReport,
    Kill,
    KillRequest,
    Trial,
    Uninterrupted,
    choose,
    counted,
    not_reached,
)
from tidegate.operations.chaos.main_states import State, TableContent, differences, mixes, together

A, B, C = (TableName("shop", "gold", name) for name in "abc")
LOG = ("after_branch", "after_write:gold.a", "after_write:gold.b", "after_write:gold.a", "after_publish")


def state(**digests: str) -> State:
    return {TableName("shop", "gold", name): TableContent(len(text), text) for name, text in digests.items()}


BEFORE, AFTER, TWICE = state(a="1", b="1"), state(a="22", b="22", c="2"), state(a="22", b="22", c="333")
WHOLE = (BEFORE, AFTER, TWICE)


def chosen(wanted: KillRequest) -> list[str]:
    return [f"{kill.at} {kill.way}" for kill in choose(LOG, wanted)]


def test_each_point_is_tried_once_in_turn_by_a_rerun_and_by_a_resume() -> None:
    assert chosen(KillRequest()) == ["after_branch rerun", "after_write resume", "after_publish rerun"]


def test_all_means_each_model_and_both_ways() -> None:
    points = ["after_branch", "after_write:gold.a", "after_write:gold.b", "after_publish"]
    assert chosen(KillRequest(every=True)) == [f"{point} {way}" for point in points for way in ("rerun", "resume")]


def test_named_points_are_taken_as_they_are_named() -> None:
    wanted = KillRequest(("after_write:gold.b", "after_write@3", "after_write:gold.a@2"))
    assert chosen(wanted) == ["after_write:gold.b rerun", "after_write@3 resume", "after_write:gold.a@2 rerun"]


def test_a_sample_is_the_same_for_the_same_seed_and_in_order() -> None:
    samples = {seed: choose(LOG, KillRequest(every=True, sample=3, seed=seed)) for seed in range(20)}
    every: tuple[Kill, ...] = choose(LOG, KillRequest(every=True))
    assert samples[7] == choose(LOG, KillRequest(every=True, sample=3, seed=7))
    assert len(set(samples.values())) > 5
    assert all(sorted(sample, key=every.index) == list(sample) for sample in samples.values())
    assert choose(LOG, KillRequest(sample=99)) == choose(LOG, KillRequest())


@pytest.mark.parametrize(
    ("point", "says"),
    [
        ("after_cleanup", "does not reach the fault point after_cleanup"),
        ("after_write:gold.c", "after_write:gold.c"),
        ("after_write@4", "more than 3 times"),
        ("after_write:gold.b@2", "more than 1 time"),
        ("after_wriet", "no fault point"),
    ],
)
def test_a_point_that_the_run_does_not_reach_is_refused_before_anything_is_killed(point: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        choose(LOG, KillRequest((point,)))


def test_a_report_is_a_document_that_says_which_trial_failed() -> None:
    trials = (
        Trial("after_branch", "rerun", 1.0),
        Trial("after_write", "resume", 1.0, ("gold.a is missing",), "/tmp/x"),
    )
    report = ChaosReport("embedded", Uninterrupted("success", 2, 3.0, counted(LOG)), trials)
    document = json.loads(json.dumps(report.document()))
    assert document["status"] == "failed"
    assert [trial["status"] for trial in document["trials"]] == ["passed", "failed"]
    assert document["uninterrupted"]["reached"] == {"after_branch": 1, "after_write": 3, "after_publish": 1}


def test_points_that_were_not_reached_are_known() -> None:
    missing = not_reached(LOG)
    assert "before_branch" in missing
    assert not {"after_branch", "after_write", "after_publish"} & set(missing)


@pytest.mark.parametrize("seen", WHOLE)
def test_a_state_that_a_run_leaves_is_no_mix(seen: State) -> None:
    groups = together("run", [A, B, C], [[A, B], [C]])
    assert list(mixes(seen, WHOLE, groups)) == []


def test_some_tables_of_a_publish_without_the_others_are_a_mix() -> None:
    groups = together("run", [A, B, C], [[A, B], [C]])
    (problem,) = mixes(state(a="22", b="1"), WHOLE, groups)
    assert problem == "readers saw a mix: gold.b, gold.c as before the run beside gold.a as after it"


def test_a_state_that_no_run_leaves_is_told() -> None:
    groups = together("run", [A, B, C], [[A, B], [C]])
    (problem,) = mixes(state(a="9", b="1"), WHOLE, groups)
    assert problem == "readers saw gold.a in a state that no run leaves"


def test_what_is_one_step_depends_on_the_mode() -> None:
    half, waves = state(a="22", b="22"), [[A, B], [C]]
    assert list(mixes(half, WHOLE, together("run", [A, B, C], waves)))
    assert list(mixes(half, WHOLE, together("wave", [A, B, C], waves))) == []
    torn = state(a="22", b="1")
    assert list(mixes(torn, WHOLE, together("wave", [A, B, C], waves)))
    assert list(mixes(torn, WHOLE, together("model", [A, B, C], waves))) == []


def test_a_quarantine_moves_with_its_table_in_every_mode() -> None:
    for mode in ("wave", "model"):
        assert together(mode, [A, A.quarantine, B], [[A], [B]]) == ((A, A.quarantine), (B,))


def test_what_differs_in_the_end_is_named() -> None:
    assert list(differences(AFTER, WHOLE[1:])) == []
    assert list(differences(TWICE, WHOLE[1:])) == []
    wrong = {**state(a="222", b="xx"), A.quarantine: TableContent(1, "q")}
    assert list(differences(wrong, WHOLE[1:])) == [
        "gold.a has 3 rows instead of 2",
        "gold.a__quarantine should not be there",
        "gold.b has other rows or columns",
        "gold.c is missing",
    ]
