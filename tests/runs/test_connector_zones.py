"""A table over the pages that a connector lands: each complete run once, as text, whatever its pages hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.projects import ProjectFolder, run_types
from tidegate.config import ZoneSettings

pytestmark = pytest.mark.spark

PAGES = ZoneSettings(format="json", raw=True, by_name=True, content_path="items")
ABOUT = "_source_file, _source_row, _op, _sequence, _run_id, _commit_time = _ingested_at"


def land(shop: ProjectFolder, run: str, *pages: Any, complete: bool = True) -> None:
    files = [f"{run}/{number:06d}.json" for number in range(1, len(pages) + 1)]
    for file, page in zip(files, pages, strict=True):
        shop.file(f"landing/crm/{file}", page)
    manifest = json.dumps({"complete": complete, "files": files})
    shop.file(f"landing/crm/_manifests/{run}.json", manifest)


def test_every_complete_run_of_a_connector_is_added_once(shop: ProjectFolder) -> None:
    shop.zones["crm"] = PAGES
    shop.model("bronze.orders", "SELECT * FROM {{ landing_zone('crm') }}", kind="append")
    land(shop, "run-1", '{"items": [{"id": 1.0}, {"id": 2, "at": null}]}', '{"items": [{"id": 1.0}]}')
    land(shop, "run-2", '{"items": [{"id": 9}]}', complete=False)
    first = shop.run()
    assert first.status == "success"
    expected = [
        ("1.0", None, "crm/run-1/000001.json", 1, "read", "00000001-000000000001", first.run_id, True),
        ("1.0", None, "crm/run-1/000002.json", 1, "read", "00000002-000000000001", first.run_id, True),
        ("2", None, "crm/run-1/000001.json", 2, "read", "00000001-000000000002", first.run_id, True),
    ]
    assert shop.rows(f"SELECT id, at, {ABOUT} FROM bronze.orders") == expected
    assert run_types(shop.run()) == {"bronze.orders": "skip"}

    land(shop, "run-2", '{"items": [{"id": {"n": 1.50}, "new": true}]}', '{"items": [{"id": 1.0}]}')
    second = shop.run()
    assert not any("same content" in warning for warning in second.warnings)
    assert shop.rows("SELECT id, at, new, _source_file FROM bronze.orders WHERE _source_file LIKE '%run-2%'") == [
        ("1.0", None, None, "crm/run-2/000002.json"),
        ('{"n": 1.50}', None, "true", "crm/run-2/000001.json"),
    ]
    assert len(shop.rows("bronze.orders")) == 5
    land(shop, "run-3", '{"error": "busy"}')
    failed = shop.run()
    assert "'000001.json' has nothing at 'items'" in str(failed.materializations[0].error)
    assert len(shop.rows("bronze.orders")) == 5
