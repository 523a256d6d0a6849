"""SELECT, --select and --exclude, on every command that takes them, without a JVM."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.cli.test_plan import publish
from tidegate.config import load_settings
from tidegate.runs import RunOptions
from tidegate.state import EventRecord, RunRecord, open_state

RUN = "run-20260102-000000-000"
MODELS = {
    "silver/orders": "SELECT 1 AS amount\n",
    "silver/notes": "-- @tags: daily\nSELECT 1 AS amount\n",
    "gold/revenue": "SELECT amount FROM silver.orders\n",
}


@pytest.fixture
def shop(project: Path) -> Path:
    """All models are published as they are written."""
    for name, text in MODELS.items():
        file = project / "models" / f"{name}.sql"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    publish(project, "run-1", {name.replace("/", "."): (number,) for number, name in enumerate(MODELS, 1)})
    return project


def planned(tidegate: Call, *args: str) -> list[str]:
    return [step["model"] for step in tidegate("plan", "--json", *args).document["steps"]]


def listed(tidegate: Call, *args: str) -> list[str]:
    return [model["model"] for model in tidegate("ls", "--json", *args).document["models"]]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("revenue",), ["gold.revenue"]),
        (("-s", "revenue"), ["gold.revenue"]),
        (("--select", "revenue", "--select", "notes"), ["gold.revenue", "silver.notes"]),
        (("-s", "revenue notes"), ["gold.revenue", "silver.notes"]),
        (("revenue", "-s", "notes"), ["gold.revenue", "silver.notes"]),
        (("-s", "revenue", "notes"), ["gold.revenue", "silver.notes"]),
        (("--exclude", "tag:daily"), ["gold.revenue", "silver.orders"]),
        (("silver.*", "--exclude", "notes", "--exclude", "revenue"), ["silver.orders"]),
        (("--exclude", "notes revenue"), ["silver.orders"]),
        (("path:models/silver,tag:daily",), ["silver.notes"]),
    ],
)
def test_select_and_exclude(shop: Path, tidegate: Call, args: tuple[str, ...], expected: list[str]) -> None:
    assert sorted(planned(tidegate, *args)) == expected
    assert listed(tidegate, *args) == expected


@pytest.mark.parametrize("command", ["run", "plan", "ls", "check", "test", "chaos"])
def test_every_command_that_selects_has_the_same_words(shop: Path, tidegate: Call, command: str) -> None:
    for args in (("revenu",), ("-s", "revenu"), ("--exclude", "revenu")):
        told = tidegate(command, *args)
        assert (told.code, "did you mean revenue?" in told.err) == (1, True), told.err


@pytest.mark.parametrize("args", [("--exclude", "notes", "revenue"), ("--exclude=notes", "revenue")])
def test_a_second_value_of_exclude_is_refused(shop: Path, tidegate: Call, args: tuple[str, ...]) -> None:
    told = tidegate("plan", *args)
    assert told.code == 1
    assert "write --exclude revenue or --select revenue" in told.err
    assert planned(tidegate, "--exclude", "notes", "--", "revenue") == ["gold.revenue"]


def test_modified_are_models_defined_otherwise_than_main_records_and_new_ones(shop: Path, tidegate: Call) -> None:
    assert listed(tidegate, "state:modified") == []
    assert tidegate("ls", "state:modified").out.startswith("No model is selected")
    (shop / "models/silver/notes.sql").write_text("-- @tags: daily, other\n-- a comment\nselect 1 AS amount\n")
    assert listed(tidegate, "state:modified") == []
    (shop / "models/silver/orders.sql").write_text("SELECT 2 AS amount\n")
    (shop / "models/silver/fresh.sql").write_text("SELECT 2 AS amount\n")
    assert listed(tidegate, "state:modified") == ["silver.fresh", "silver.orders"]
    assert listed(tidegate, "state:new") == ["silver.fresh"]
    assert planned(tidegate, "state:modified+", "--exclude", "state:new") == ["silver.orders", "gold.revenue"]


def test_all_is_new_before_the_first_run(project: Path, tidegate: Call) -> None:
    (project / "models/silver").mkdir(parents=True)
    (project / "models/silver/orders.sql").write_text(MODELS["silver/orders"])
    assert planned(tidegate, "state:modified") == ["silver.orders"]
    assert not (project / ".tidegate" / "catalog.db").exists()


def test_a_run_of_what_is_modified_ends_well_where_nothing_is(shop: Path, tidegate: Call) -> None:
    told = tidegate("run", "state:modified+")
    assert told.code == 0
    assert "No model is selected: none is of the state that state:modified+ asks for" in told.out
    assert tidegate("plan", "state:modified+").out.startswith("No model is selected")


def test_a_resumed_run_keeps_the_models_that_were_modified_when_it_began(shop: Path, tidegate: Call) -> None:
    """What it published since is not modified any more, and is still part of it."""
    settings, at = load_settings(shop), datetime(2026, 1, 2, tzinfo=UTC)
    options = RunOptions(select=("state:modified+",)).to_record()
    with open_state(settings.state.url) as store:
        store.start_run(RunRecord(RUN, "shop", "run", RUN, "run", at, options=options))
        models = {"models": ["silver.orders", "gold.revenue"]}
        store.add_event(EventRecord(RUN, at, "pipeline_start", None, models))
        store.finish_run(RUN, "failed", finished_at=at, duration_ms=9)
    told = tidegate("run", "--resume", RUN, "--json")
    assert told.code == 0
    assert [m["model"] for m in told.document["materializations"]] == ["gold.revenue", "silver.orders"]


def test_exclude_is_not_given_again_to_a_resumed_run(shop: Path, tidegate: Call) -> None:
    assert "leave out --exclude" in tidegate("run", "--resume-latest", "--exclude", "notes").err


def test_one_model_may_be_named_without_its_layer(shop: Path, tidegate: Call) -> None:
    assert tidegate("show", "revenue").out.startswith("gold.revenue")
    assert "Did you mean revenue?" in tidegate("show", "revenu").err
    (shop / "models/gold/orders.sql").write_text("SELECT 1 AS amount\n")
    told = tidegate("show", "orders")
    assert (told.code, "Name its layer: gold.orders or silver.orders." in told.err) == (1, True)


def test_a_key_outlives_the_version_before_exclude() -> None:
    before = "a5685f96ca900135ccde91dc8d4fccbe849cbeef5ee68c7494fb5df0acf81fef"
    assert RunOptions(select=("a", "b")).digest == before
    assert RunOptions(select=("a", "b"), exclude=("c",)).digest != before
    assert RunOptions.from_dict(RunOptions(exclude=("c",)).to_dict()).exclude == ("c",)
