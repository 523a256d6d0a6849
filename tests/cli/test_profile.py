"""profile: what can be told without a JVM; the pass over a table is that of tests/runs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Call
from tests.cli.test_no_jvm import call
from tests.cli.test_plan import publish
from tests.cli.test_run_console import event, lines_of
from tidegate.state import AnomalyRecord, ProfileRecord, open_state

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "id", "type": "bigint", "nulls": 0, "distinct": 11, "min": 1, "max": 11, "mean": 6.0},
    {"name": "paid", "type": "boolean", "nulls": 2, "distinct": 2, "min": False, "max": True, "mean": None},
    {"name": "note", "type": "string", "nulls": 0, "distinct": 3, "min": "a\nb", "max": "z", "mean": None},
)


@pytest.fixture
def orders(project: Path) -> Path:
    file = project / "models" / "silver" / "orders.sql"
    file.parent.mkdir(parents=True)
    file.write_text("SELECT 1 AS amount\n")
    publish(project, "run-1", {"silver.orders": (11,)})
    return file


def remember(project: Path, run_id: str = "run-1", **changes: Any) -> None:
    values: dict[str, Any] = {
        "at": NOON,
        "scope": "table",
        "rows": 11,
        "table_rows": 11,
        "snapshot_id": 11,
        "published": True,
        "columns": COLUMNS,
        **changes,
    }
    with open_state(f"sqlite:///{project}/.tidegate/state.db") as store:
        store.add_profile(ProfileRecord(run_id, "silver.orders", **values))


def test_a_run_that_only_counted_says_so(project: Path, orders: Path, tidegate: Call) -> None:
    remember(project, columns=(), scope="written", rows=2, table_rows=11)
    assert tidegate("profile", "silver.orders").out.splitlines() == [
        "silver.orders  2 rows written by the run, of a table of 11  (by run-1, 2026-11-15 12:00:00 UTC)",
        "The run recorded the number of rows only: --now reads the table.",
    ]


def test_a_profile_is_shown_as_it_was_recorded(project: Path, orders: Path, tidegate: Call) -> None:
    remember(project)
    told = tidegate("profile", "silver.orders")
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines() == [
        "silver.orders  11 rows  (by run-1, 2026-11-15 12:00:00 UTC)",
        "",
        "column  type     nulls  distinct ~  min    max   mean",
        "------  -------  -----  ----------  -----  ----  ----",
        "id      bigint       0          11  1      11       6",
        "paid    boolean      2           2  false  true     -",
        "note    string       0           3  a\\nb   z        -",
    ]
    document = tidegate("profile", "silver.orders", "--json").document
    assert (document["model"], document["run_id"], document["at"]) == ("silver.orders", "run-1", NOON.isoformat())
    assert (document["scope"], document["rows"], document["changed_since"]) == ("table", 11, False)
    assert document["columns"] == list(COLUMNS)


def test_what_was_recorded_is_shown_without_java(project: Path, orders: Path) -> None:
    remember(project)
    (answer,) = call(project, ["profile silver.orders"])
    assert (answer.code, answer.err) == (0, "")
    (answer,) = call(project, ["profile silver.orders --now"])
    assert answer.code != 0


def test_a_part_of_a_table_and_a_table_that_changed_are_told_as_such(
    project: Path, orders: Path, tidegate: Call
) -> None:
    remember(project, scope="written", rows=1, table_rows=12, snapshot_id=5)
    first, second, *_ = tidegate("profile", "silver.orders").out.splitlines()
    assert first.startswith("silver.orders  1 row written by the run, of a table of 12  (by run-1")
    assert second == "The table has been changed since: --now reads it as it is."
    assert tidegate("profile", "silver.orders", "--json").document["changed_since"] is True


def test_the_last_profile_that_was_published_is_told(project: Path, orders: Path, tidegate: Call) -> None:
    remember(project)
    remember(project, "run-2", at=NOON.replace(hour=13), rows=12)
    remember(project, "run-3", at=NOON.replace(hour=14), rows=13, published=False)
    assert tidegate("profile", "silver.orders", "--json").document["rows"] == 12


def test_a_column_that_has_become_personal_is_not_shown(project: Path, orders: Path, tidegate: Call) -> None:
    remember(project)
    orders.write_text("-- @column: note: [pii]\nSELECT 1 AS id, true AS paid, 'a' AS note\n")
    told = {column["name"]: column for column in tidegate("profile", "silver.orders", "--json").document["columns"]}
    assert (told["note"]["min"], told["note"]["max"], told["note"]["distinct"]) == ("***", "***", 3)
    assert told["id"]["max"] == 11


def test_what_has_no_profile_says_why(project: Path, orders: Path, tidegate: Call) -> None:
    layer = orders.parent
    (layer / "seen.sql").write_text("-- @materialized: view\nSELECT amount FROM silver.orders\n")
    (layer / "part.sql").write_text("-- @materialized: ephemeral\nSELECT amount FROM silver.orders\n")
    (layer / "new.sql").write_text("SELECT amount FROM silver.orders\n")
    wrong = tidegate("profile", "silver.ordrs")
    assert wrong.code == 1
    assert "There is no model 'silver.ordrs'" in wrong.err
    assert "Did you mean silver.orders" in wrong.err
    assert "is ephemeral, so it has no table" in tidegate("profile", "silver.part").err
    unpublished = tidegate("profile", "silver.new")
    assert (unpublished.code, "has not been published yet" in unpublished.err) == (1, True)
    assert "tidegate run +silver.new" in unpublished.err


def test_a_model_is_shown_with_what_was_unusual(project: Path, orders: Path, tidegate: Call) -> None:
    assert "unusual" not in tidegate("show", "silver.orders").out
    with open_state(f"sqlite:///{project}/.tidegate/state.db") as store:
        store.add_anomaly(
            AnomalyRecord("run-9", "silver.orders", "row_count", None, NOON, 40, 100, 0.6, "40 rows, usually about 100")
        )
    last = tidegate("show", "silver.orders").out.splitlines()[-1]
    shown = [cell.strip() for cell in last.split("  ") if cell]
    assert shown == ["40 rows, usually about 100", "60%", "run-9", "2026-11-15 12:00:00"]
    (told,) = tidegate("show", "silver.orders", "--json").document["anomalies"]
    assert (told["kind"], told["column"], told["value"]) == ("row_count", None, 40)


def test_what_is_unusual_is_a_line_of_the_run() -> None:
    told = event("anomaly_detected", "silver.orders", message="40 rows, usually\nabout 100")
    assert lines_of([told]) == ["[WARN] silver.orders: unusual: 40 rows, usually\\nabout 100"]
