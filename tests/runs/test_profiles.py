"""Profiles that runs put down while they write: what a query over the same rows would find, and nothing more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tidegate.cli.main import run_cli
from tidegate.names import quote
from tidegate.operations.publish import publish_run
from tidegate.runs.result import RunResult
from tidegate.spark.session import child_session
from tidegate.state import AnomalyRecord, ProfileRecord, open_reader

pytestmark = pytest.mark.spark

ALL_TYPES = """
SELECT CAST(id AS int) AS number, IF(id % 3 = 0, NULL, id) AS some, CAST(NULL AS string) AS nothing,
  CAST(id / 4 AS decimal(20, 5)) AS price, IF(id = 7, double('NaN'), id / 2D) AS strange, id / 4D AS half,
  concat(repeat('x', 70), id % 5) AS long_text, concat('name', id % 40) AS name, id % 2 = 0 AS even,
  date_add(date'2024-01-01', CAST(id AS int)) AS day, timestamp'2024-01-01 10:00:00.5' + make_dt_interval(0, id) AS at,
  CAST('2024-01-01 10:00:00' AS timestamp_ntz) AS local, CAST('a' AS binary) AS bytes, array(id) AS list,
  named_struct('a', id) AS `a struct`, concat('secret', id) AS email, id AS salary
FROM range(100)
"""


@pytest.fixture(autouse=True)
def with_profiles(shop: ProjectFolder) -> None:
    shop.profiles = True


def profiles(shop: ProjectFolder, model: str) -> tuple[ProfileRecord, ...]:
    """Newest first."""
    with open_reader(shop.settings.state.url) as state:
        return state.profiles(model)


def expected(shop: ProjectFolder, relation: str, *names: str) -> dict[str, tuple[Any, ...]]:
    """NULLs, least, greatest, mean and the exact number of different values of each column, by queries."""
    queries = {}
    for name in names:
        column = quote(name)
        mean = f"avg(try_cast(CAST({column} AS string) AS double))"
        queries[name] = (
            f"SELECT count(*) - count({column}) AS nulls, CAST(min({column}) AS string) AS a, CAST(max({column})"
            f" AS string) AS b, {mean} AS m, count(DISTINCT {column}) AS d FROM {relation}"
        )
    rows = shop.rows_of(*queries.values())
    return {name: rows[sql][0] for name, sql in queries.items()}


def found(record: ProfileRecord, name: str) -> dict[str, Any]:
    return next(dict(column) for column in record.columns if column["name"] == name)


def test_a_profile_is_what_a_query_would_find(shop: ProjectFolder) -> None:
    shop.model("silver.facts", ALL_TYPES, column="email: [pii]\n-- @column: salary: [redact]")
    shop.model("silver.none", "SELECT id, 'x' AS text FROM range(0)")
    shop.model(
        "silver.laid_out", "SELECT id, id % 3 AS part FROM range(50)", partitioned_by="part", sorted_by="id DESC"
    )
    result = shop.run()
    assert set(statuses(result).values()) == {"completed"}
    (record,) = profiles(shop, "silver.facts")
    assert (record.run_id, record.scope, record.rows, record.table_rows) == (result.run_id, "table", 100, 100)
    assert record.snapshot_id == next(m for m in result.materializations if m.model == "silver.facts").snapshot_id
    numbers, others = ("number", "some", "half"), ("name", "day", "local")
    queried = expected(shop, "silver.facts", *numbers, *others)
    for name in numbers:
        column = found(record, name)
        nulls, least, greatest, mean, distinct = queried[name]
        assert (column["nulls"], float(column["min"]), float(column["max"])) == (nulls, float(least), float(greatest))
        assert column["mean"] == pytest.approx(mean)
        assert column["distinct"] == pytest.approx(distinct, rel=0.05)
    for name in others:
        column = found(record, name)
        nulls, least, greatest, _mean, distinct = queried[name]
        shown = (nulls, least.replace(" ", "T"), greatest.replace(" ", "T"))
        assert (column["nulls"], column["min"], column["max"]) == shown
        assert (column["mean"], column["distinct"]) == (None, pytest.approx(distinct, rel=0.05))
    assert found(record, "at")["max"] == "2024-01-05T13:00:00.500000+00:00"
    assert (found(record, "price")["min"], found(record, "price")["max"]) == ("0.00000", "24.75000")
    assert (found(record, "strange")["max"], found(record, "strange")["mean"]) == ("nan", "nan")
    assert (found(record, "long_text")["max"], found(record, "long_text")["distinct"]) == ("x" * 64, 5)
    assert (found(record, "even")["min"], found(record, "even")["distinct"]) == (False, 2)
    nothing = {"nulls": 100, "distinct": 0, "min": None, "max": None, "mean": None}
    assert found(record, "nothing") == {"name": "nothing", "type": "string", **nothing}
    for name in ("bytes", "list", "a struct"):
        only = {key: value for key, value in found(record, name).items() if key not in ("name", "type")}
        assert only == {"nulls": 0, "distinct": None, "min": None, "max": None, "mean": None}
    email, salary = found(record, "email"), found(record, "salary")
    assert (email["min"], email["max"], email["mean"]) == ("***", "***", None)
    assert email["distinct"] == pytest.approx(100, rel=0.05)
    assert (salary["nulls"], salary["min"], salary["mean"]) == (100, None, None)
    assert "secret" not in json.dumps(record.columns)
    (empty,) = profiles(shop, "silver.none")
    assert (empty.rows, found(empty, "id")["nulls"], found(empty, "id")["distinct"]) == (0, 0, 0)
    (laid_out,) = profiles(shop, "silver.laid_out")
    assert (laid_out.rows, found(laid_out, "id")["max"], found(laid_out, "part")["distinct"]) == (50, 49, 3)


HEADER = "id,customer,amount,day\n"
LATER = (
    "bronze.orders",
    "silver.upsert",
    "silver.replaced",
    "silver.history",
    "silver.daily",
    "silver.sorted",
    "gold.sums",
)


def test_a_run_that_brings_a_part_says_so_and_profiles_that_part(shop: ProjectFolder) -> None:
    shop.file("landing/orders/1.csv", HEADER + "".join(f"{n},c{n % 4},{n},2024-01-0{n % 3 + 1}\n" for n in range(40)))
    shop.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", merge_strategy="append_only")
    shop.model("silver.sorted", "SELECT id, amount FROM bronze.orders", kind="append", sorted_by="id")
    everything = "SELECT id, customer, amount FROM {{ landing_zone('orders') }}"
    shop.model("silver.upsert", everything, merge_strategy="incremental", unique_key="id")
    shop.model("silver.replaced", everything, merge_strategy="delete_insert", unique_key="customer")
    shop.model("silver.history", everything, merge_strategy="scd2", unique_key="id")
    daily = "SELECT day, amount FROM {{ landing_zone('orders') }}"
    shop.model("silver.daily", daily, merge_strategy="snapshot", partition_column="day")
    sums = "SELECT customer, sum(amount) AS total FROM bronze.orders GROUP BY customer"
    shop.model("gold.sums", sums, deltas="always")
    first = shop.run()
    assert set(statuses(first).values()) == {"completed"}
    assert {profiles(shop, name)[0].scope for name in LATER} == {"table"}
    assert {name: profiles(shop, name)[0].rows for name in LATER} == {**dict.fromkeys(LATER, 40), "gold.sums": 4}
    shop.file("landing/orders/2.csv", HEADER + "100,c0,7,2024-01-09\n101,c0,,2024-01-09\n")
    second = shop.run()
    assert set(statuses(second).values()) == {"completed"}
    assert run_types(second)["gold.sums"] == "incremental"
    for name in LATER:
        record = profiles(shop, name)[0]
        assert (name, record.run_id, record.scope) == (name, second.run_id, "written")
        rows, table = {"gold.sums": (1, 4), "silver.replaced": (2, 32)}.get(name, (2, 42))
        assert (name, record.rows, record.table_rows) == (name, rows, table)
    appended = profiles(shop, "bronze.orders")[0]
    assert (found(appended, "amount")["nulls"], found(appended, "amount")["max"]) == (1, 7)
    assert not profiles(shop, "gold.sums")[0].columns


def test_only_what_is_published_counts(shop: ProjectFolder) -> None:
    shop.model("silver.bad", "SELECT id FROM range(3)", audit="row_count(>, 5)")
    shop.model("silver.good", "SELECT id FROM range(3)")
    assert statuses(shop.run()) == {"silver.bad": "failed", "silver.good": "completed"}
    assert (len(profiles(shop, "silver.bad")), len(profiles(shop, "silver.good"))) == (0, 1)
    assert statuses(shop.run("silver.good")) == {"silver.good": "skipped"}
    assert len(profiles(shop, "silver.good")) == 1
    shop.model("silver.good", "SELECT id FROM range(4)")
    kept = shop.run("silver.good", no_publish=True)
    assert [record.rows for record in profiles(shop, "silver.good")] == [3]
    publish_run(shop.settings, kept.run_id)
    assert [record.rows for record in profiles(shop, "silver.good")] == [4, 3]


def orders(shop: ProjectFolder, rows: int, email: str = "'a@b.c'", **directives: str) -> RunResult:
    shop.model("silver.orders", f"SELECT id % 10 AS id, {email} AS email FROM range({rows})", **directives)
    return shop.run()


def test_what_is_unusual_is_told_everywhere_and_blocks_nothing(
    shop: ProjectFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    for rows in (100, 102, 98, 100):
        assert orders(shop, rows).anomalies == ()
    result = orders(shop, 400, "IF(id % 2 = 0, 'a@b.c', NULL)")
    assert (result.status, result.publish.tables) == ("success", ("silver.orders",))
    assert [(a.kind, a.column, a.value, a.expected) for a in result.anomalies] == [
        ("row_count", None, 400, 100),
        ("null_share", "email", 0.5, 0),
    ]
    assert [a["kind"] for a in result.to_dict()["anomalies"]] == ["row_count", "null_share"]
    events = [event for event in shop.events if event.name == "anomaly_detected"]
    assert [(event.model, event.data["deviation"]) for event in events] == [("silver.orders", 3), ("silver.orders", 5)]
    with open_reader(shop.settings.state.url) as state:
        stored: tuple[AnomalyRecord, ...] = state.anomalies(result.run_id)
        assert state.run(result.run_id).result["anomalies"] == result.to_dict()["anomalies"]  # type: ignore[union-attr,index]
    assert [record.message for record in stored] == [
        "column 'email' is 50.0% NULL, usually 0.0%",
        "400 rows, usually about 100",
    ]
    assert orders(shop, 500, anomaly_threshold="0").anomalies == ()
    assert run_cli(["show", "silver.orders", "--project", str(shop.root)]) == 0
    assert "400 rows, usually about 100" in capsys.readouterr().out


def test_a_table_is_read_where_no_run_has_recorded_its_profile(
    shop: ProjectFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.model("silver.orders", "SELECT id, concat('p', id) AS person FROM range(10)", column="person: [pii]")
    shop.model("silver.seen", "SELECT id FROM silver.orders", kind="view")
    shop.run()
    monkeypatch.setattr("tidegate.spark.session.start_session", lambda *_: shop.spark)

    def told(*args: str) -> dict[str, Any]:
        capsys.readouterr()
        assert run_cli(["profile", *args, "--json", "--project", str(shop.root)]) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    written, now = told("silver.orders"), told("silver.orders", "--now")
    assert (written["run_id"], now["run_id"]) == (shop.events[0].run_id, None)
    assert {key: value for key, value in written.items() if key not in ("run_id", "at")} == {
        key: value for key, value in now.items() if key not in ("run_id", "at")
    }
    assert told("silver.seen", "--now")["rows"] == 10
    session = child_session(shop.spark, shop.catalog.spark_conf("main"), shop.catalog.spark_catalog("main"))
    session.sql("INSERT INTO shop.silver.orders VALUES (77, 'x')")
    assert (told("silver.orders")["changed_since"], told("silver.orders")["rows"]) == (True, 10)
    assert (told("silver.orders", "--now")["changed_since"], told("silver.orders", "--now")["rows"]) == (False, 11)
    (shop.root / ".tidegate" / "state.db").unlink()
    assert told("silver.orders")["rows"] == 11
