"""A process that is killed at each point of a read: the next one misses nothing and lands nothing twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.ingest.landing_project import FILES, REST, LandingProject, ingestion
from tests.ingest.scripted_server import Answer, Call, serving

ROOT = Path(__file__).parents[2]
CHILD = """
import json, os, sys
from pathlib import Path
import httpx
import tidegate.ingest.files_connector, tidegate.ingest.rest.rest_connector
from tests.ingest.landing_project import LandingProject, ingestion
toml, contract = sys.argv[1:3]
for place in sys.argv[3:]:
    point, _, root = place.partition("=")
    child = os.fork()
    if child == 0:
        os.environ["TIDEGATE_FAULT"] = point
        LandingProject(Path(root), toml).land(ingestion(**json.loads(contract)), "run-killed")
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
POINTS = [
    "before_ingest",
    "after_bounds",
    "before_batch",
    "before_batch@2",
    "after_batch",
    "after_batch@3",
    "after_batch_recorded",
    "after_batch_recorded@3",
    "before_ingest_complete",
    "after_ingest_complete",
]


def kill(shops: Mapping[str, LandingProject], contract: dict[str, Any]) -> None:
    """Land each in a process of its own, which dies at the point."""
    (toml,) = {shop.toml for shop in shops.values()}
    places = [f"{point}={shop.root}" for point, shop in shops.items()]
    command = [sys.executable, "-c", CHILD, toml, json.dumps(contract), *places]
    ended = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60, check=True)
    assert list(map(int, ended.stdout.split())) == [-signal.SIGKILL] * len(shops)


def pages(call: Call) -> Answer:
    page = int(call.query.get("page", 1))
    return Answer({"results": [page], "next": f"?page={page + 1}" if page < 3 else None})


def test_pages_after_a_kill_at_each_point(tmp_path: Path) -> None:
    with serving(pages) as server:
        shops = {}
        for number, point in enumerate(POINTS):
            (tmp_path / str(number)).mkdir()
            toml = f'[sources.shop]\nkind = "rest"\nbase_url = "{server.url}"\n'
            shops[point] = LandingProject(tmp_path / str(number), toml)
        contract = {**REST, "ingestion_read_strategy": "incremental"}
        kill(shops, contract)
        for point, shop in shops.items():
            before = len(server.calls)
            recorded = sum(each["batches"] for each in shop.manifests())
            is_complete = any(each["complete"] for each in shop.manifests())
            if not is_complete:
                shop.land(ingestion(**contract))
                assert len(server.calls) - before == 3 - recorded, point
            assert [json.loads(page)["results"] for page in shop.pages()] == [[1], [2], [3]], point
            (manifest,) = shop.manifests()
            assert shop.everything() == [f"_manifests/{manifest['run_id']}.json", *manifest["files"]], point


def test_files_after_a_kill_at_each_point(tmp_path: Path) -> None:
    shops = {}
    for number, point in enumerate(point for point in POINTS if "@" not in point):
        shops[point] = LandingProject(tmp_path / str(number))
        for name in ("a", "b", "c"):
            drop(shops[point], name)
    kill(shops, FILES)
    for point, shop in shops.items():
        drop(shop, "d")
        for _again in range(2):
            shop.land(ingestion(**FILES))
        assert sorted(shop.pages()) == [f"id\n{name}\n" for name in "abcd"], point


def drop(shop: LandingProject, name: str) -> None:
    path = shop.root / "drop" / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"id\n{name}\n")
