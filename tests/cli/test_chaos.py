"""chaos: what it refuses before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call
from tidegate.faults import FAULT_POINTS


def test_the_points_are_listed_for_people_and_for_programs(tidegate: Call) -> None:
    lines = tidegate("chaos", "--list").out
    assert all(point in lines for point in FAULT_POINTS)
    document = tidegate("chaos", "--list", "--json").document
    assert [point["name"] for point in document["points"]] == list(FAULT_POINTS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--points", "before_branch,after_wriet"], "There is no fault point 'after_wriet'"),
        (["--points", "after_publish:gold.a"], "is not about a model"),
        (["--points", "after_write", "--all"], "give one of them"),
        (["--sample", "0"], "0 is not in the range"),
    ],
)
def test_what_makes_no_sense_is_refused(project: Path, tidegate: Call, arguments: list[str], says: str) -> None:
    told = tidegate("chaos", *arguments)
    assert told.code != 0
    assert says in told.err


def test_a_fault_that_would_end_chaos_itself_is_refused(
    project: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGATE_FAULT", "after_write")
    told = tidegate("chaos")
    assert told.code == 1
    assert "would end chaos itself" in told.err


def test_a_project_with_errors_is_not_run(project: Path, tidegate: Call) -> None:
    (project / "models" / "gold").mkdir(parents=True, exist_ok=True)
    (project / "models" / "gold" / "broken.sql").write_text("SELECT FROM WHERE\n")
    told = tidegate("chaos")
    assert told.code == 1
    assert "nothing was run" in told.err


def test_where_nothing_is_to_be_built_there_is_nothing_to_kill(project: Path, tidegate: Call) -> None:
    told = tidegate("chaos")
    assert told.code == 1
    assert "nothing to kill" in told.err
    assert "--full-refresh" in told.err
    folder = Path(told.out.partition(" in ")[2].partition(";")[0])
    assert not folder.exists()
    assert [path.name for path in project.iterdir()] == ["tidegate.toml"]
