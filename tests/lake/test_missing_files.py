"""Files that a table refers to and that are gone: found without Spark, and named with the way back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tidegate.lake.branch_catalog import Heads, Pointer, PointerKind
from tidegate.lake.metadata import local_path
from tidegate.lake.missing_files import damages, first_damage
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.names import TableName

ORDERS = TableName("shop", "silver", "orders")


def write_table(folder: Path, strategy: str | None = "incremental", appends: int = 2) -> Pointer:
    """A table of several commits in `folder`, as if a model of that strategy had made it."""
    progress = Progress(
        run_id="run-1",
        fingerprint="f",
        run_type="full",
        strategy=strategy or "",
        keeps_history=strategy == "append_only",
    )
    catalog = SqlCatalog("main", uri=f"sqlite:///{folder}/other.db", warehouse=f"file://{folder}")
    catalog.create_namespace("silver")
    properties = {PROGRESS_PROPERTY: progress.to_json()} if strategy else {}
    table = catalog.create_table("silver.orders", pa.schema([("id", pa.int64())]), properties=properties)
    for number in range(appends):
        table.append(pa.table({"id": [number]}))
    catalog.engine.dispose()
    return Pointer(PointerKind.TABLE, table.metadata_location)


@pytest.fixture
def heads(tmp_path: Path) -> Heads:
    return {ORDERS: write_table(tmp_path)}


def lose(pattern: str, folder: Path, pointer: Pointer) -> Path:
    """The newest such file."""
    found = sorted(folder.rglob(pattern), key=lambda path: path.stat().st_mtime_ns)
    path = local_path(pointer.location) if pattern == "*.metadata.json" else found[-1]
    path.unlink()
    return path


def test_a_table_whose_files_are_all_there_is_whole(heads: Heads) -> None:
    assert list(damages(heads)) == []


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("*.parquet", "a data file of snapshot"),
        ("*-m0.avro", "a manifest of snapshot"),
        ("snap-*.avro", "a manifest list of snapshot"),
        ("*.metadata.json", "a metadata file of the table"),
    ],
)
def test_what_is_missing_is_named_with_table_snapshot_and_file(
    pattern: str, what: str, heads: Heads, tmp_path: Path
) -> None:
    lost = lose(pattern, tmp_path, heads[ORDERS])
    damage = first_damage(heads, [ORDERS])
    assert damage is not None
    error = damage.error("shop")
    assert error.message.startswith(f"silver.orders: {what}")
    assert (str(error.kind), local_path(str(error.where))) == ("NotFound", lost)
    assert "restore the file" in str(error.remedy)
    if damage.snapshot is not None:
        assert str(damage.snapshot.id) in error.message
        assert "tidegate run silver.orders --full-refresh" in str(error.remedy)


def test_all_missing_data_files_are_counted(heads: Heads, tmp_path: Path) -> None:
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()
    damage = next(damages(heads))
    assert damage.error("shop").message.startswith("silver.orders: 2 data files of snapshot")


@pytest.mark.parametrize(
    ("strategy", "said"), [("append_only", "it keeps history"), (None, "write the table again where it comes from")]
)
def test_the_way_back_depends_on_who_made_the_table(strategy: str | None, said: str, tmp_path: Path) -> None:
    heads = {ORDERS: write_table(tmp_path, strategy)}
    lose("*.parquet", tmp_path, heads[ORDERS])
    assert said in str(next(damages(heads)).error("shop").remedy)
