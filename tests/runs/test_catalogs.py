"""A project is built, skipped and built from changes in the same way whatever keeps its catalog and its history."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lake.places import Place
from tests.projects import ProjectFolder, run_types, statuses
from tidegate.state import open_reader

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
POINTERS = ("embedded", "jdbc", "nessie")
"""Catalogs on which pointers alone are moved. A REST server reads the metadata, so there only Spark can build."""
ON_SPARK = ("nessie", "rest", *(("embedded", "jdbc") if PROVE else ()))
"""tests/lake tries Spark on all catalogs, and every other test of runs on the embedded one."""
CASES = [
    *(pytest.param("pointers", kind, marks=[pytest.mark.spark] if kind == "nessie" else []) for kind in POINTERS),
    *(pytest.param("spark", kind, marks=pytest.mark.spark) for kind in ON_SPARK),
]

TOML = """[project]
name = "shop"

[lake]
warehouse = "{warehouse}"
{lake}

[state]
url = "{state}"
"""


def configure(shop: ProjectFolder, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, state = "", "sqlite:///.tidegate/state.db"
    if place.kind == "jdbc":
        monkeypatch.setenv("LAKE", place.address)
        lake, state = 'catalog = "jdbc"\nuri = "${LAKE}"', "${LAKE}"
    elif place.kind == "nessie":
        uri, main = place.address.split(" ")
        lake = f'catalog = "nessie"\nuri = "{uri}"\nref = "{main}"'
    elif place.kind == "rest":
        lake = f'catalog = "rest"\nuri = "{place.address}"'
    shop.file("tidegate.toml", TOML.format(warehouse=place.folder / "warehouse", lake=lake, state=state))


def check_rows(shop: ProjectFolder, table: str, expected: list[tuple[object, ...]]) -> None:
    if shop.spark is not None:
        assert shop.rows(table) == expected


@pytest.mark.parametrize(("builder", "place"), CASES, indirect=["place"])
def test_a_project_runs_from_end_to_end(
    builder: str, place: Place, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = ProjectFolder(tmp_path / "shop", request.getfixturevalue("spark") if builder == "spark" else None)
    shop.builder.failing_checks["row_count(>, 100)"] = 1
    configure(shop, place, monkeypatch)
    shop.file("landing/orders/1.csv", "id,customer,amount\n1,ann,10\n2,bob,20\n3,ann,30\n")
    shop.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", merge_strategy="append_only")
    shop.model(
        "silver.orders",
        "SELECT id, customer, amount FROM bronze.orders",
        kind="merge",
        unique_key="id",
        deltas="always",
    )
    shop.model(
        "gold.revenue", "SELECT customer, sum(amount) AS total FROM silver.orders GROUP BY customer", deltas="always"
    )
    shop.model("gold.best", "SELECT customer FROM gold.revenue WHERE total > 25", materialized="view")
    shop.model("gold.bad", "SELECT customer FROM gold.revenue", audit="row_count(>, 100)")
    first = shop.run()
    assert statuses(first) == {
        "bronze.orders": "completed",
        "silver.orders": "completed",
        "gold.revenue": "completed",
        "gold.best": "completed",
        "gold.bad": "failed",
    }
    check_rows(shop, "gold.revenue", [("ann", 40), ("bob", 20)])
    check_rows(shop, "gold.best", [("ann",)])
    assert "bad" not in {table.name for table in shop.catalog.head()}

    (shop.root / "models/gold/bad.sql").unlink()
    again = shop.run()
    assert set(statuses(again).values()) == {"skipped"}

    shop.file("landing/orders/2.csv", "id,customer,amount\n4,bob,7\n")
    third = shop.run()
    from_changes = "incremental" if shop.spark is not None else "full"
    assert {run_types(third)[name] for name in ("silver.orders", "gold.revenue")} == {from_changes}
    check_rows(shop, "gold.revenue", [("ann", 40), ("bob", 27)])
    assert shop.branches() == []
    with open_reader(shop.settings.state.url) as reader:
        assert [run.status for run in reader.runs()] == ["success", "skipped", "partial"]
