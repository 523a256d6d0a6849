"""A zone with thousands of logical runs: a few reads of manifests, and the same result as from each of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ingest.landing_project import FILES, LandingProject, ingestion
from tidegate.ingest.batch_manifest import BatchManifest, read_manifests
from tidegate.ingest.port import Bounds
from tidegate.project.connector_zone import list_connector_zone

RUNS = 2_000


def landed_by(runs: int, root: Path) -> LandingProject:
    """Each run has landed one file."""
    shop = LandingProject(root)
    manifests = shop.zone / "_manifests"
    manifests.mkdir(parents=True)
    for number in range(1, runs + 1):
        run, file = f"run-{number}", f"run-{number}/000001.csv"
        (shop.zone / run).mkdir()
        (shop.zone / file).touch()
        manifest = BatchManifest(run, "orders", "1.0.0", "x", number, "", Bounds(), False, 1, 1, complete=True)
        document = dataclasses.asdict(dataclasses.replace(manifest, next=str(number), files=(file,)))
        (manifests / f"{run}.json").write_text(json.dumps(document))
    (root / "drop").mkdir()
    (root / "drop/a.csv").write_text("id\n1\n")
    return shop


@contextmanager
def counted_reads(shop: LandingProject) -> Iterator[list[str]]:
    """The manifests that are read."""
    reads: list[str] = []
    read_bytes = Path.read_bytes

    def counting(path: Path) -> bytes:
        if path.parent.name == "_manifests":
            reads.append(path.name)
        return read_bytes(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", counting)
        yield reads


def zone_files(shop: LandingProject) -> list[str]:
    return [file.path for file in list_connector_zone(shop.root / "landing", "orders")]


def test_thousands_of_manifests_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = landed_by(RUNS, tmp_path)
    landed = shop.land(ingestion(**FILES))
    expected = [*(f"run-{number}/000001.csv" for number in range(1, RUNS + 1)), *landed.files]
    with counted_reads(shop) as reads:
        assert zone_files(shop) == expected
        assert [each.next for each in read_manifests(shop.zone)][-2:] == [str(RUNS), str(RUNS)]
    new = f"{landed.run_id}.json"
    assert reads == [".summary.json", new, ".summary.json", new]

    monkeypatch.setattr("tidegate.project.manifest_files._MOST_BESIDE", 2)
    for number in range(4):
        (shop.root / f"drop/b{number}.csv").write_text(f"id\nb{number}\n")
        shop.land(ingestion(**FILES))
    with counted_reads(shop) as reads:
        assert len(zone_files(shop)) == RUNS + 5
    assert len(reads) == 3


def test_a_summary_is_believed_only_where_it_is_that_of_the_manifest(tmp_path: Path) -> None:
    shop = landed_by(40, tmp_path)
    shop.land(ingestion(**FILES))
    changed, gone = (shop.zone / f"_manifests/run-{number}.json" for number in (7, 8))
    document = json.loads(changed.read_text())
    changed.write_text(json.dumps(document | {"files": ["run-9/000001.csv"]}))
    gone.unlink()
    files = zone_files(shop)
    assert "run-7/000001.csv" not in files
    assert "run-8/000001.csv" not in files
    assert "run-10/000001.csv" in files
    (shop.zone / "_manifests/.summary.json").write_text("{")
    assert zone_files(shop) == files
