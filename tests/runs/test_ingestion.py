"""A run reads the sources of its contracts before it plans; a source that fails stops only what is built from it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.projects import ProjectFolder, statuses
from tidegate.names import TableName
from tidegate.runs import RunResult

CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: {name}
version: 1.0.0
status: active
schema:
  - name: {name}_source
    customProperties:
      - {{property: connector, value: {connector}}}
      - {{property: source_system, value: shop}}
      - {{property: endpoint, value: "{endpoint}"}}
      - {{property: landing_directory, value: {name}}}
      - {{property: landing_file_format, value: json}}
      - {{property: ingestion_read_strategy, value: incremental}}
      - {{property: bronze_table, value: {name}}}
      - {{property: content_path, value: ""}}
      - {{property: json_multiline, value: false}}
  - name: {name}
    properties:
      - {{name: id, physicalType: bigint, logicalType: integer, primaryKey: true}}
"""


def contract(shop: ProjectFolder, name: str, connector: str, endpoint: str) -> None:
    text = CONTRACT.format(name=name, connector=connector, endpoint=endpoint)
    shop.file(f"contracts/{name}.odcs.yml", text)


def landed(shop: ProjectFolder, zone: str) -> list[str]:
    folder = shop.root / "landing" / zone
    files = (path for path in folder.rglob("*") if path.is_file() and "_manifests" not in path.parts)
    return sorted(path.read_text() for path in files)


def errors(result: RunResult) -> dict[str, str | None]:
    return {m.model: m.failure_kind for m in result.materializations if m.status == "failed"}


def test_files_of_a_source_are_landed_once_and_built_in_the_same_run(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    contract(shop, "orders", "files", "exports/*.json")
    shop.file("exports/1.json", '{"id": 1}\n')
    assert statuses(shop.run()) == {"bronze.orders": "completed", "silver.orders": "completed"}
    assert landed(shop, "orders") == ['{"id": 1}\n']
    opened = shop.builder.opened
    assert statuses(shop.run()) == {"bronze.orders": "skipped", "silver.orders": "skipped"}
    assert shop.builder.opened == opened
    shop.file("exports/2.json", '{"id": 2}\n')
    assert statuses(shop.run())["bronze.orders"] == "completed"
    assert landed(shop, "orders") == ['{"id": 1}\n', '{"id": 2}\n']


def test_equal_content_in_another_batch_is_neither_a_repeat_nor_a_warning(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    contract(shop, "orders", "files", "exports/*.json")
    shop.file("exports/1.json", '{"id": 1}\n')
    assert shop.run().exit_code == 0
    zone = shop.root / "landing" / "orders"
    (manifest,) = (zone / "_manifests").glob("*.json")
    (file,) = (path for path in zone.rglob("*.json") if path.parent != manifest.parent)
    copy = zone / "run-other" / "000001.json"
    copy.parent.mkdir()
    copy.write_bytes(file.read_bytes())
    of_copy = json.loads(manifest.read_text()) | {"run_id": "run-other", "files": ["run-other/000001.json"]}
    (manifest.parent / "run-other.json").write_text(json.dumps(of_copy))
    result = shop.run(no_ingest=True)
    assert (statuses(result)["bronze.orders"], result.warnings) == ("completed", ())


def test_no_ingest_builds_what_is_landed_and_reads_no_source(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    contract(shop, "orders", "files", "exports/*.json")
    shop.file("exports/1.json", '{"id": 1}\n')
    assert shop.run(no_ingest=True).exit_code == 0
    assert landed(shop, "orders") == []


def test_before_the_first_delivery_a_pushed_zone_is_empty(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    contract(shop, "orders", "landing_push", "unused")
    result = shop.run()
    assert statuses(result) == {"bronze.orders": "completed", "silver.orders": "completed"}
    shop.file("landing/orders/1.json", '{"id": 1}\n')
    assert statuses(shop.run())["bronze.orders"] == "completed"
    assert statuses(shop.run())["bronze.orders"] == "skipped"


def test_a_source_that_is_down_stops_only_what_is_built_from_it(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    contract(shop, "orders", "rest", "http://127.0.0.1:9/orders")
    contract(shop, "refunds", "files", "exports/*.json")
    shop.file("exports/1.json", '{"id": 1}\n')
    result = shop.run()
    assert errors(result) == {"bronze.orders": "ConnectionFailed"}
    assert statuses(result) == {
        "bronze.orders": "failed",
        "bronze.refunds": "completed",
        "silver.orders": "blocked",
        "silver.refunds": "completed",
    }
    assert (result.exit_code, sorted(result.publish.tables)[:1]) == (2, ["bronze.refunds"])
    assert shop.clock.slept, "the source was asked once only"


def test_the_bound_of_a_source_moves_with_the_publish_of_its_rows(pointer_shop: ProjectFolder, tmp_path: Path) -> None:
    shop = pointer_shop
    contract(shop, "orders", "files", "exports/*.json")
    shop.file("exports/1.json", '{"id": 1}\n')
    shop.run(no_publish=True)
    table = TableName("shop", "bronze", "orders")
    assert shop.main.table(table) is None
    assert shop.run().exit_code == 0
    metadata = shop.main.table(table)
    assert metadata is not None
    assert json.loads(metadata.properties["tidegate.checkpoint"]) == {
        "checkpoint_value": None,
        "checkpoint_of": None,
        "source_specific_state_json": None,
    }
    assert len(landed(shop, "orders")) == 1
