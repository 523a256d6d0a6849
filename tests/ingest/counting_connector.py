"""A connector as another package may bring it: numbers of a JSON file, in batches of two, one file for each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tidegate.contracts.connectors import Connector
from tidegate.contracts.issues import Issue
from tidegate.contracts.stage_contract import StageContract
from tidegate.errors import FailureKind, SourceError
from tidegate.ingest.port import Batch, Bounds, Extent, SourceRequest

COUNTING = {
    "connector": "counting",
    "source_system": "shop",
    "landing_directory": "orders",
    "landing_file_format": "json",
    "ingestion_read_strategy": "incremental",
}


def write_entry_point(folder: Path) -> None:
    """What an installed package with this connector leaves on Python's path."""
    info = folder / "counting-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 1.0\n")
    target = "tests.ingest.counting_connector:CountingConnector"
    (info / "entry_points.txt").write_text(f"[tidegate.connectors]\ncounting = {target}\n")


def _issues(contract: StageContract) -> Iterator[Issue]:
    yield from contract.expect_choice("parity", ("odd", "even"), required=False)


class CountingConnector:
    declaration = Connector("counting", issues=_issues)

    def __init__(self, request: SourceRequest) -> None:
        self._request = request
        self._source = request.settings.root / "numbers.json"

    def upper_bound(self, lower: str | None) -> str | None:
        numbers = self._numbers()
        return str(max(numbers)) if numbers else lower

    def batches(self, bounds: Bounds, state: str | None, folder: Path) -> Iterator[Batch]:
        lower, upper = int(bounds.lower or 0), int(bounds.upper or 0)
        at = max(lower, json.loads(state)["after"] if state else lower)
        left = sorted(number for number in self._numbers() if at < number <= upper)
        for start in range(0, len(left), 2):
            names = []
            for number in left[start : start + 2]:
                (folder / "parts").mkdir(exist_ok=True)
                (folder / "parts" / f"part-{number:03}.json").write_text(json.dumps(number))
                (folder / "_SUCCESS").touch()
                names.append(f"parts/part-{number:03}.json")
            self._request.report(Extent("ranges", start // 2 + 1, rows=start + len(names)))
            self._fail_sometimes()
            last = left[start + len(names) - 1]
            more = start + 2 < len(left)
            yield Batch(tuple(names), len(names), json.dumps({"after": last}) if more else None)

    def close(self) -> None: ...

    def _numbers(self) -> list[int]:
        return [int(number) for number in json.loads(self._source.read_text())]

    def _fail_sometimes(self) -> None:
        """As often as the file says."""
        path = self._request.settings.root / "failures"
        left = int(path.read_text()) if path.exists() else 0
        if left:
            path.write_text(str(left - 1))
            raise SourceError("the line broke", source="shop", kind=FailureKind.CONNECTION_FAILED)
