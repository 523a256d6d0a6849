"""A landing zone belongs to one contract, and what a manifest in it says leads nowhere else."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.landing_project import FILES, LandingProject, ingestion
from tests.ingest.test_files import drop
from tidegate.contracts.ingestion import Ingestion
from tidegate.errors import LandingError
from tidegate.ingest.bronze_position import BronzePosition, position_after


def named(contract_id: str, **properties: Any) -> Ingestion:
    return dataclasses.replace(ingestion(**{**FILES, **properties}), id=contract_id)


def rewrite(shop: LandingProject, run: str, /, **changes: Any) -> None:
    path = shop.zone / f"_manifests/{run}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_second_contract_lands_nothing_in_a_zone_and_removes_nothing(tmp_path: Path) -> None:
    shop = LandingProject(tmp_path)
    drop(tmp_path, "a.csv", "1", 10)
    shop.land(named("orders"), run_id="run-1")
    before = shop.everything()
    with pytest.raises(LandingError, match=r"belongs to contract 'orders', which fills bronze\.orders_source"):
        shop.land(named("two", bronze_table="two"), run_id="run-1")
    assert shop.everything() == before


def test_an_unfinished_read_of_another_contract_stays(tmp_path: Path) -> None:
    shop = LandingProject(tmp_path)
    drop(tmp_path, "a.csv", "1", 10)
    shop.land(named("orders"))
    rewrite(shop, "run-1", complete=False)
    with pytest.raises(LandingError, match="belongs to contract 'orders'"):
        shop.land(named("two", bronze_table="two"), restart=True)
    assert shop.everything() == ["_manifests/run-1.json", "run-1/000001.csv"]


def test_a_contract_keeps_what_it_has_landed_when_its_id_changes(tmp_path: Path) -> None:
    shop = LandingProject(tmp_path)
    drop(tmp_path, "a.csv", "1", 10)
    landed = shop.land(named("orders"))
    assert shop.land(named("orders-v2")).files == ()
    rewrite(shop, "run-1", next="7")
    assert position_after(shop.zone, landed.files, BronzePosition()).checkpoint == "7"
    rewrite(shop, "run-1", complete=False, state="{}")
    assert shop.land(named("orders-v3")).resumed


def test_a_folder_that_no_manifest_has_is_left_alone(tmp_path: Path) -> None:
    shop = LandingProject(tmp_path)
    drop(tmp_path, "a.csv", "1", 10)
    other = shop.zone / "run-1/precious.csv"
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    assert shop.land(named("orders")).files == ("run-1-2/000001.csv",)
    assert other.read_text() == "mine"


@pytest.mark.parametrize("run_id", ["../../models", "/etc", "run-2", "", "..", None, 1])
def test_a_manifest_is_that_of_the_run_that_it_is_named_after(tmp_path: Path, run_id: Any) -> None:
    shop = LandingProject(tmp_path)
    precious = tmp_path / "models/orders.sql"
    precious.parent.mkdir()
    precious.write_text("SELECT 1 AS x")
    drop(tmp_path, "a.csv", "1", 10)
    shop.land(named("orders"))
    rewrite(shop, "run-1", run_id=run_id, complete=False, definition="other")
    with pytest.raises(LandingError, match=r"the manifest run-1\.json of landing zone 'orders' is that of another run"):
        shop.land(named("orders"))
    assert precious.is_file()


@pytest.mark.parametrize("link", ["run-1", "_scratch", "_manifests", "."])
def test_a_link_in_the_zone_leads_no_write_and_no_removal_elsewhere(tmp_path: Path, link: str) -> None:
    shop = LandingProject(tmp_path)
    outside = tmp_path / "models"
    outside.mkdir()
    (outside / "001.sql").write_text("SELECT 1 AS x")
    drop(tmp_path, "a.csv", "1", 10)
    shop.land(named("orders"))
    rewrite(shop, "run-1", complete=False, batches=0, file_count=0, state=None)
    path = shop.zone / link
    path.rename(path.with_name("moved")) if path.exists() else None
    path.symlink_to(outside)
    with pytest.raises(LandingError, match=r"leads out of the landing root|is a link, not the folder of a run"):
        shop.land(named("orders"))
    assert [each.name for each in outside.iterdir()] == ["001.sql"]


@pytest.mark.parametrize(
    "changes", [{"ordinal": "1"}, {"batches": None}, {"contract_id": None}, {"files": {"../x": 1}}, {"bound_of": 1}]
)
def test_a_manifest_with_values_of_other_kinds_is_named(tmp_path: Path, changes: dict[str, Any]) -> None:
    shop = LandingProject(tmp_path)
    drop(tmp_path, "a.csv", "1", 10)
    shop.land(named("orders"))
    rewrite(shop, "run-1", **changes)
    with pytest.raises(LandingError, match=r"the manifest run-1\.json of landing zone 'orders' cannot be read"):
        shop.land(named("orders"))
