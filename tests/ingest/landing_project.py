"""A project with one contract, whose source is landed without a JVM."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tidegate.config import load_settings
from tidegate.contracts.ingestion import Ingestion
from tidegate.contracts.landing_issues import landing_issues
from tidegate.contracts.read_ingestion import read_ingestion
from tidegate.contracts.stage_contract import StageContract
from tidegate.http_client import Timing
from tidegate.ingest.logical_run import LandedRun, LogicalRun, land

REST = {
    "connector": "rest",
    "source_system": "shop",
    "landing_directory": "orders",
    "landing_file_format": "json",
    "ingestion_read_strategy": "full_snapshot",
    "endpoint": "/orders",
    "content_path": "results",
    "json_multiline": True,
}
FILES = {
    "connector": "files",
    "source_system": "shop",
    "landing_directory": "orders",
    "landing_file_format": "csv",
    "ingestion_read_strategy": "incremental",
    "endpoint": "drop/*.csv",
}


def contract_document(**properties: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "orders",
        "version": "1.0.0",
        "status": "active",
        "schema": [
            {
                "name": "orders_source",
                "customProperties": [
                    {"property": name, "value": value} for name, value in properties.items() if value is not None
                ],
            },
            {"name": "orders", "properties": [{"name": "id", "logicalType": "string"}]},
        ],
    }


def ingestion(**properties: Any) -> Ingestion:
    contract = StageContract(contract_document(**properties))
    assert [issue.message for issue in landing_issues(contract)] == []
    found = read_ingestion(contract)
    assert found is not None
    return found


class Times:
    """A clock that moves only when somebody waits, and by a millisecond when it is looked at."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waited: list[float] = []

    def now(self) -> float:
        self.seconds += 0.001
        return self.seconds

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.seconds += seconds

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now())


@dataclass
class LandingProject:
    root: Path
    toml: str = ""
    env: dict[str, str] = field(default_factory=dict)
    times: Times = field(default_factory=Times)
    runs: int = 0

    @property
    def zone(self) -> Path:
        return self.root / "landing" / "orders"

    def land(self, found: Ingestion, run_id: str = "", consumed: Collection[str] = (), **options: Any) -> LandedRun:
        self.runs += 1
        (self.root / "tidegate.toml").write_text(f'[project]\nname = "lake"\n{self.toml}')
        settings = load_settings(self.root, env=self.env)
        timing = Timing(self.times.now, self.times.wait, self.times.wall)
        run_id = run_id or f"run-{self.runs}"
        return land(LogicalRun(found, settings, run_id, consumed=consumed, timing=timing, **options))

    def pages(self) -> list[str]:
        """What is landed and may be read into bronze, in its order."""
        return [(self.zone / file).read_text() for file in self.listed()]

    def listed(self) -> list[str]:
        """The files of complete manifests, in their order."""
        done = sorted((each for each in self.manifests() if each["complete"]), key=lambda each: each["ordinal"])
        return [file for each in done for file in each["files"]]

    def manifests(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in sorted((self.zone / "_manifests").glob("*.json"))]

    def everything(self) -> list[str]:
        """Every file of the zone but the lock."""
        names = (path.relative_to(self.zone).as_posix() for path in self.zone.rglob("*") if path.is_file())
        return sorted(name for name in names if name != "_manifests/.lock")
