"""Zones that connectors write: only files of complete manifests are read, by name, in the order of their batches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidegate.errors import LandingError
from tidegate.lake.consumed import ConsumedFile
from tidegate.project.connector_zone import list_connector_zone, unconsumed_by_name
from tidegate.project.landing_files import ZoneFile


def land(
    root: Path, run: str, *names: str, complete: bool = True, content: str = "[]", ordinal: int | None = None
) -> None:
    zone = "crm/orders"
    files = [f"{run}/{name}" for name in names]
    for file in files:
        path = root / zone / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (root / zone / "_manifests").mkdir(parents=True, exist_ok=True)
    manifest = {"complete": complete, "files": files, "rows": 1, "state": None}
    manifest |= {} if ordinal is None else {"ordinal": ordinal}
    (root / zone / "_manifests" / f"{run}.json").write_text(json.dumps(manifest))


def paths(root: Path, *consumed: ConsumedFile) -> list[str]:
    return [file.path for file in list_connector_zone(root, "crm/orders", consumed)]


def mark(path: str, run: str = "run-1") -> ConsumedFile:
    return ConsumedFile(path, 2, 1, run, "xx")


def test_a_zone_without_a_folder_or_manifests_has_no_files(tmp_path: Path) -> None:
    assert paths(tmp_path) == []
    (tmp_path / "crm/orders/run-1").mkdir(parents=True)
    (tmp_path / "crm/orders/run-1/000001.json").write_text("[]")
    assert paths(tmp_path) == []


def test_files_come_in_the_order_of_runs_and_batches_with_size_and_time(tmp_path: Path) -> None:
    land(tmp_path, "run-2", "1000000.json", "000002.json")
    land(tmp_path, "run-1", "000002.json", "000010.json")
    land(tmp_path, "run-3", "000001.json", complete=False)
    (tmp_path / "crm/orders/_manifests/.run-4.json.tmp").write_text("{")
    (tmp_path / "crm/orders/_manifests/_state.json").write_text("{")
    (tmp_path / "crm/orders/run-1/stray.json").write_text("[]")
    files = list_connector_zone(tmp_path, "crm/orders")
    assert [file.path for file in files] == [
        "run-1/000002.json",
        "run-1/000010.json",
        "run-2/1000000.json",
        "run-2/000002.json",
    ]
    status = (tmp_path / "crm/orders/run-1/000002.json").stat()
    assert files[0] == ZoneFile("run-1/000002.json", status.st_size, status.st_mtime_ns)


def test_runs_are_counted_as_clocks_may_go_back(tmp_path: Path) -> None:
    land(tmp_path, "run-1", "000001.json", ordinal=10)
    land(tmp_path, "run-2", "000001.json", ordinal=9)
    assert paths(tmp_path) == ["run-2/000001.json", "run-1/000001.json"]


def test_a_run_is_read_once_its_manifest_is_complete(tmp_path: Path) -> None:
    land(tmp_path, "run-1", "000001.json", complete=False)
    assert paths(tmp_path) == []
    land(tmp_path, "run-1", "000001.json", "000002.json")
    assert paths(tmp_path) == ["run-1/000001.json", "run-1/000002.json"]


def test_equal_content_under_another_name_is_neither_a_copy_nor_a_repeat(tmp_path: Path) -> None:
    land(tmp_path, "run-1", "000001.json", "000002.json", content='[{"a": 1}]')
    land(tmp_path, "run-2", "000001.json", content='[{"a": 1}]')
    files = list_connector_zone(tmp_path, "crm/orders")
    fresh = unconsumed_by_name(files, [mark("run-1/000001.json")])
    assert fresh.all == files[1:]
    assert not fresh.copies
    assert not fresh.replaced


def test_a_consumed_name_is_consumed_whatever_its_size_and_time(tmp_path: Path) -> None:
    land(tmp_path, "run-1", "000001.json", content="other content than was consumed")
    files = list_connector_zone(tmp_path, "crm/orders")
    assert unconsumed_by_name(files, [mark("run-1/000001.json")]).all == ()


def test_a_landed_file_that_is_gone_is_an_error_unless_it_was_read_or_archived(tmp_path: Path) -> None:
    land(tmp_path, "run-1", "000001.json", "000002.json")
    (tmp_path / "crm/orders/run-1/000001.json").unlink()
    with pytest.raises(LandingError, match=r"run-1/000001\.json.*is not there, but run-1\.json says") as caught:
        paths(tmp_path)
    assert caught.value.remedy
    assert paths(tmp_path, mark("run-1/000001.json")) == ["run-1/000002.json"]
    archived = tmp_path / "crm/orders/_processed/run-9/run-1/000001.json"
    archived.parent.mkdir(parents=True)
    archived.write_text("[]")
    assert paths(tmp_path) == ["run-1/000002.json"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"complete": true}', '{"complete": true, "files": 1}'])
def test_a_manifest_that_cannot_be_read_is_named(tmp_path: Path, content: str) -> None:
    land(tmp_path, "run-1")
    (tmp_path / "crm/orders/_manifests/run-1.json").write_text(content)
    with pytest.raises(LandingError, match=r"manifest run-1\.json of landing zone 'orders' cannot be read"):
        paths(tmp_path)


@pytest.mark.parametrize("name", ["/etc/passwd", "../other/a.json", "_manifests/run-1.json", ".", "run-1/.hidden.json"])
def test_a_manifest_names_data_files_of_its_zone_alone(tmp_path: Path, name: str) -> None:
    land(tmp_path, "run-1")
    manifest = {"complete": True, "files": [name]}
    (tmp_path / "crm/orders/_manifests/run-1.json").write_text(json.dumps(manifest))
    with pytest.raises(LandingError, match="which is no data file of the zone"):
        paths(tmp_path)
