"""Contracts over tables of databases, and what their logical runs land."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.config.test_settings import settings_of
from tidegate.config import Settings
from tidegate.contracts.connectors import CONNECTORS
from tidegate.contracts.ingestion import Ingestion, SilverColumn, SilverRules, SourceRules
from tidegate.ingest import logical_run
from tidegate.ingest.logical_run import LandedRun, LogicalRun, land

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = count(1)


def source_settings(root: Path, lines: str, password: str) -> Settings:
    text = f'[sources.shop]\n{lines}\npassword = "${{SHOP_PASSWORD}}"\n'
    return settings_of(root, text, SHOP_PASSWORD=password)


def table_contract(connector: str, table: str, **rules: Any) -> Ingestion:
    """Of a table whose key is `id`."""
    source = SourceRules(
        name="orders",
        table="orders",
        connector=CONNECTORS[connector],
        system="shop",
        zone=f"orders{next(_numbers)}",
        physical_name=table,
        **{"source": "shop", "format": "parquet", "full_snapshot": False, **rules},
    )
    key = SilverColumn("order_id", "bigint", origin=("id",), primary_key=True)
    return Ingestion("orders", "1.0.0", source, SilverRules("orders", "orders", (key,), ("order_id",), "current_state"))


@dataclass
class Landing:
    """The logical runs of one contract. `consumed`: what is in bronze."""

    ingestion: Ingestion
    settings: Settings
    session: SparkSession
    checkpoint: str | None = None
    consumed: list[str] = field(default_factory=list)
    last: LandedRun | None = None
    _runs: int = 0

    def read(self, check: Callable[[], None] = lambda: None) -> list[dict[str, Any]]:
        """The rows of one logical run, in the order of its files."""
        return [row for file in self.land(check).files for row in self.rows_of(file)]

    def land(self, check: Callable[[], None] = lambda: None) -> LandedRun:
        self._runs += 1
        run = LogicalRun(
            self.ingestion,
            self.settings,
            f"run-{self._runs}",
            checkpoint=self.checkpoint,
            consumed=self.consumed,
            session=lambda: self.session,
            check_cancelled=check,
            attempts=1,
        )
        self.last = land(run)
        self.checkpoint = self.last.checkpoint
        self.consumed += self.last.files
        return self.last

    def path_of(self, file: str) -> Path:
        return self.settings.landing.root / self.ingestion.source.zone / file

    def rows_of(self, file: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pq.read_table(self.path_of(file)).to_pylist()
        return rows

    def zone_rows(self) -> list[dict[str, Any]]:
        """Of all files in the zone, those of unfinished logical runs too."""
        zone = self.settings.landing.root / self.ingestion.source.zone
        files = sorted(path.relative_to(zone).as_posix() for path in zone.glob("[!_]*/*"))
        return [row for file in files for row in self.rows_of(file)]


class KilledError(BaseException):
    """What ends a process that is killed passes every handler."""


def kill_at(patch: pytest.MonkeyPatch, point: str, times: int) -> None:
    """End the next logical run where it reaches a fault point for the n-th time."""
    left = count(times - 1, -1)

    def fault(reached: str) -> None:
        if reached == point and next(left) == 0:
            raise KilledError

    patch.setattr(logical_run, "fault", fault)
