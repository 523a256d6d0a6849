"""A run as OpenLineage events: what the specification asks for, and what each model read and wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from uuid import UUID

import pytest

from tests.compiler.projects import Built, build, write_project
from tidegate.compiler import compile_project
from tidegate.compiler.compiled import Edge, EdgeKind, Origin
from tidegate.config import load_settings
from tidegate.datatypes import ANY, BIGINT, DATE, NOTHING_KNOWN, Column, Relation
from tidegate.jsontext import json_text
from tidegate.names import TableName
from tidegate.operations.openlineage import run_events
from tidegate.project import load_project
from tidegate.sources import Discovery, SourceTable, known_tables
from tidegate.state import ModelRunRecord, RunRecord

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
BRONZE, PAID = "shop.bronze.orders", "shop.silver.paid"
FILES = {
    "landing/orders/": "",
    "models/bronze/orders.sql": "SELECT * FROM {{ landing_zone('orders') }}\n",
    "models/silver/paid.sql": "-- @materialized: ephemeral\nSELECT id, CAST(n AS BIGINT) AS n FROM bronze.orders\n",
    "models/gold/days.sql": "-- @description: Sales by day\nSELECT sum(n) AS n FROM silver.paid\n",
    "models/gold/view.sql": "-- @materialized: view\nSELECT 1 AS id\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Built:
    built = build(tmp_path, FILES)
    known: dict[str, dict[str, Any]] = {
        "bronze.orders": {
            "relation": Relation((Column("id", BIGINT), Column("n", ANY))),
            "edges": (Edge("n", Origin("landing:orders", "n"), EdgeKind.IDENTITY),),
            "conditions": (),
        },
        "silver.paid": {
            "relation": Relation((Column("id", BIGINT), Column("n", BIGINT))),
            "edges": (
                Edge("id", Origin(BRONZE, "id"), EdgeKind.IDENTITY),
                Edge("n", Origin(BRONZE, "n"), EdgeKind.CAST),
            ),
            "conditions": (Origin(BRONZE, "status"),),
        },
        "gold.days": {
            "relation": Relation((Column("n", BIGINT), Column("day", DATE))),
            "edges": (
                Edge("n", Origin(PAID, "n"), EdgeKind.AGGREGATION),
                Edge("n", Origin(PAID, "id"), EdgeKind.CONDITION),
                Edge("day", Origin(BRONZE, "day"), EdgeKind.WINDOW),
            ),
            "conditions": (Origin(PAID, "id"),),
        },
        "gold.view": {"relation": NOTHING_KNOWN, "edges": (), "conditions": ()},
    }
    models = {name: replace(m, **known[name.short("shop")]) for name, m in built.compiled.models.items()}
    return replace(built, compiled=replace(built.compiled, models=models))


def ended(model: str, status: str = "completed", after: int = 5, strategy: str = "full_refresh") -> ModelRunRecord:
    error = "it broke" if status == "failed" else None
    at = NOON + timedelta(seconds=after)
    return ModelRunRecord(
        model, status, strategy, "full", "", 7, duration_ms=2000, error=error, run_id="run-1", finished_at=at
    )


def events(shop: Built, *models: ModelRunRecord, status: str = "success") -> list[dict[str, Any]]:
    finished = NOON + timedelta(seconds=20)
    run = RunRecord("run-1", "shop", "run", "run-1", "run", NOON, status, finished, error="2 failed")
    found = run_events(shop.compiled, shop.settings, run, models)
    return [json.loads(json_text(event)) for event in found]


def check_event(event: Mapping[str, Any]) -> None:
    """What OpenLineage 2-0-2 requires of a run event and its facets."""
    assert {"eventTime", "producer", "schemaURL", "run", "job"} <= set(event)
    assert event["eventType"] in {"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"}
    assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
    assert event["schemaURL"].startswith("https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent")
    assert urlparse(event["producer"]).scheme
    assert str(UUID(event["run"]["runId"])) == event["run"]["runId"]
    assert event["job"]["namespace"]
    assert event["job"]["name"]
    facets = [*event["run"].get("facets", {}).values(), *event["job"].get("facets", {}).values()]
    for dataset in (*event["inputs"], *event["outputs"]):
        assert dataset["namespace"]
        assert dataset["name"]
        facets += [*dataset.get("facets", {}).values(), *dataset.get("outputFacets", {}).values()]
        check_dataset(dataset.get("facets", {}))
    for facet in facets:
        assert urlparse(facet["_producer"]).scheme
        assert facet["_schemaURL"].startswith("https://openlineage.io/spec/facets/")
    if error := event["run"].get("facets", {}).get("errorMessage"):
        assert {"message", "programmingLanguage"} <= set(error)
    if parent := event["run"].get("facets", {}).get("parent"):
        assert UUID(parent["run"]["runId"])
        assert {"namespace", "name"} <= set(parent["job"])


def check_dataset(facets: Mapping[str, Any]) -> None:
    assert all(set(field) <= {"name", "type"} and field["name"] for field in facets.get("schema", {}).get("fields", ()))
    lineage = facets.get("columnLineage")
    if lineage is None:
        return
    inputs = [field for column in lineage["fields"].values() for field in column["inputFields"]]
    for field in (*inputs, *lineage["dataset"]):
        assert {"namespace", "name", "field"} <= set(field)
        for how in field["transformations"]:
            direct, indirect = {"IDENTITY", "TRANSFORMATION", "AGGREGATION"}, {"CONDITIONAL", "FILTER", "WINDOW"}
            assert how["subtype"] in {"DIRECT": direct, "INDIRECT": indirect}[how["type"]]
            assert isinstance(how["masking"], bool)


def test_every_event_is_as_the_specification_says(shop: Built) -> None:
    told = events(shop, ended("bronze.orders"), ended("gold.days", "failed"), ended("gold.view", strategy="view"))
    assert len(told) == 8
    for event in told:
        check_event(event)


def test_a_run_starts_before_its_models_and_ends_after_them(shop: Built) -> None:
    told = events(shop, ended("bronze.orders", after=1), ended("gold.days", after=20))
    assert [(event["eventType"], event["job"]["name"]) for event in told] == [
        ("START", "shop"),
        ("START", "shop.bronze.orders"),
        ("COMPLETE", "shop.bronze.orders"),
        ("START", "shop.gold.days"),
        ("COMPLETE", "shop.gold.days"),
        ("COMPLETE", "shop"),
    ]
    parent = told[0]["run"]["runId"]
    assert {e["run"]["facets"]["parent"]["run"]["runId"] for e in told[1:-1]} == {parent}
    assert told[1]["run"]["runId"] == told[2]["run"]["runId"] != told[3]["run"]["runId"]
    assert events(shop, ended("bronze.orders", after=1), ended("gold.days", after=20)) == told


@pytest.mark.parametrize(
    ("status", "last"), [("completed", "COMPLETE"), ("failed", "FAIL"), ("cancelled", "ABORT"), ("skipped", None)]
)
def test_a_model_ends_as_it_ended_and_one_that_did_nothing_is_not_told(
    shop: Built, status: str, last: str | None
) -> None:
    mine = [event for event in events(shop, ended("gold.days", status)) if event["job"]["name"] != "shop"]
    assert [event["eventType"] for event in mine] == (["START", last] if last else [])
    if last == "FAIL":
        assert mine[1]["run"]["facets"]["errorMessage"]["message"] == "it broke"
        assert "errorMessage" not in mine[0]["run"]["facets"]


@pytest.mark.parametrize(("status", "last"), [("success", "COMPLETE"), ("partial", "FAIL"), ("cancelled", "ABORT")])
def test_a_run_ends_as_it_ended(shop: Built, status: str, last: str) -> None:
    assert events(shop, status=status)[-1]["eventType"] == last
    assert [event["eventType"] for event in events(shop, status="running")] == ["START"]


def test_datasets_have_their_columns_and_where_they_come_from_through_ephemeral_models(shop: Built) -> None:
    event = events(shop, ended("gold.days"))[2]
    (read,) = event["inputs"]
    (written,) = event["outputs"]
    lake = {"namespace": shop.settings.lake.warehouse.as_uri(), "name": "shop.bronze.orders"}
    assert {key: read[key] for key in ("namespace", "name")} == lake
    assert read["facets"]["schema"]["fields"] == [{"name": "id", "type": "bigint"}, {"name": "n"}]
    assert written["name"] == "shop.gold.days"
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == 7
    lineage = written["facets"]["columnLineage"]
    assert _ways(lineage["fields"]["n"]) == {
        "id": [("INDIRECT", "CONDITIONAL")],
        "n": [("DIRECT", "AGGREGATION")],
    }
    assert _ways(lineage["fields"]["day"]) == {"day": [("DIRECT", "TRANSFORMATION"), ("INDIRECT", "WINDOW")]}
    assert {**lake, "field": "n"}.items() <= lineage["fields"]["n"]["inputFields"][1].items()
    assert [field["field"] for field in lineage["dataset"]] == ["id", "status"]
    assert event["job"]["facets"]["documentation"]["description"] == "Sales by day"


def _ways(column: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    return {f["field"]: [(t["type"], t["subtype"]) for t in f["transformations"]] for f in column["inputFields"]}


def test_a_landing_zone_is_a_folder_and_what_is_not_known_is_left_out(shop: Built) -> None:
    bronze = events(shop, ended("bronze.orders"))[2]
    assert bronze["inputs"] == [{"namespace": "file", "name": str(shop.settings.landing.root / "orders"), "facets": {}}]
    view = events(shop, ended("gold.view", strategy="view"))[2]
    assert view["outputs"][0]["facets"] == {}
    assert "outputFacets" not in view["outputs"][0]
    gone = events(shop, ended("gold.gone"))[2]
    assert (gone["job"]["name"], gone["inputs"]) == ("shop.gold.gone", [])


SOURCES = """
[project]
name = "shop"
[sources.erp]
kind = "database"
url = "postgresql://db.example:6543/sales"
[sources.crm]
kind = "catalog"
catalog_path = "other/catalog.db"
warehouse = "other/warehouse"
namespace = "club"
[sources.all]
kind = "catalog"
catalog_path = "other/catalog.db"
warehouse = "other/warehouse"
[sources.hand]
kind = "manual"
[sources.hand.tables."public.things"]
columns = { id = "bigint", name = "string" }
"""


def test_a_table_of_a_source_is_known_as_whoever_writes_it_names_it(tmp_path: Path) -> None:
    tables = {
        "erp.public.orders": ("postgres://db.example:6543", "sales.public.orders"),
        "crm.silver.people": ((tmp_path / "other/warehouse").as_uri(), "club.silver.people"),
        "all.club.silver.people": ((tmp_path / "other/warehouse").as_uri(), "club.silver.people"),
        "hand.public.things": ("hand", "public.things"),
    }
    names = ("erp.public.orders", "crm.silver.people", "all.`club.silver`.people", "hand.public.things")
    query = "SELECT " + ", ".join(f"t{n}.id AS id{n}" for n in range(4)) + " FROM "
    query += " CROSS JOIN ".join(f"{name} t{n}" for n, name in enumerate(names))
    write_project(tmp_path, {"tidegate.toml": SOURCES, "models/silver/a.sql": query})
    settings = load_settings(tmp_path, env={})
    found = [
        TableName("erp", "public", "orders"),
        TableName("crm", "silver", "people"),
        TableName("all", "club.silver", "people"),
    ]
    known = tuple(SourceTable(name, Relation((Column("id", BIGINT),)), name.namespace, "any") for name in found)
    discovery = Discovery((*known, *known_tables(settings, names={"hand"}).tables))
    compiled = compile_project(load_project(settings), settings, {}, {}, discovery)
    run = RunRecord("run-1", "shop", "run", "run-1", "run", NOON, "success", NOON)
    told = list(run_events(compiled, settings, run, [ended("silver.a")], discovery))
    for event in told:
        check_event(event)
    event = told[2]
    assert {(read["namespace"], read["name"]) for read in event["inputs"]} == set(tables.values())
    schemas = {read["name"]: read["facets"]["schema"]["fields"] for read in event["inputs"]}
    assert schemas["public.things"] == [{"name": "id", "type": "bigint"}, {"name": "name", "type": "string"}]
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    origins = [(f["namespace"], f["name"]) for c in sorted(fields) for f in fields[c]["inputFields"]]
    assert origins == list(tables.values())


def test_without_a_discovery_the_sources_are_as_they_last_said(tmp_path: Path) -> None:
    shop = build(tmp_path, {"tidegate.toml": SOURCES, "models/silver/a.sql": "SELECT id FROM hand.public.things\n"})
    (read,) = events(shop, ended("silver.a"))[2]["inputs"]
    assert [field["name"] for field in read["facets"]["schema"]["fields"]] == ["id", "name"]
