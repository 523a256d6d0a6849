"""Chunks are held to the rules of their source, many in one job; a crash loses nothing and a rerun doubles nothing."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.chunks.chunk_shop import CONTRACT, ChunkShop
from tidegate.chunks.chunk_project import open_chunk_project
from tidegate.chunks.process_bronze import ProcessedRun, ProcessProgress, get_tasks, pending_tasks, process_tasks
from tidegate.chunks.processing_metadata import BronzeToSilverProcessingMetadata, ChunkProcessingMetadata
from tidegate.config import load_settings
from tidegate.errors import ConfigError
from tidegate.operations.chunks.jobs import process as process_sources
from tidegate.operations.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

GOOD = [{"id": number, "amount": "1.50", "note": f"n{number}"} for number in range(5)]
BAD = [{"id": "x", "amount": 2}, {"id": 9, "amount": "0.10"}, {"amount": 3}]


MODEL = """\
from decimal import Decimal
from typing import Literal, Optional

from pydantic import BaseModel, Field


class Address(BaseModel):
    city: str = Field(min_length=2)
    zip: Optional[str] = None


class Order(BaseModel):
    id: int = Field(gt=0)
    amount: Decimal = Field(max_digits=9, decimal_places=2)
    kind: Literal["a", "b"] = "a"
    address: Optional[Address] = None
    tags: list[str] = Field(max_length=2)
"""


class Killed(BaseException):
    pass


def process(shop: ChunkShop, spark: SparkSession) -> list[ProcessedRun]:
    project = open_chunk_project(shop.root)
    done, broken = process_tasks(project, pending_tasks(project, None), lambda: spark)
    assert broken is None
    return done


def results(shop: ChunkShop) -> dict[str, list[dict[str, Any]]]:
    """The rows of every processed chunk and of every errors file, by the name of the chunk."""
    paths = [*shop.root.glob("chunked_bronze/*/*/*_processed.parquet"), *shop.root.glob("archived_bronze/*/*/errors/*")]
    return {f"{path.parent.name}/{path.name}": parquet.read_table(path).to_pylist() for path in sorted(paths)}


def chunk_metadata(shop: ChunkShop) -> list[ChunkProcessingMetadata]:
    paths = sorted(shop.root.glob("chunked_bronze/*/*/*_metadata.json"))
    return [ChunkProcessingMetadata.model_validate_json(path.read_bytes()) for path in paths]


def strays(shop: ChunkShop) -> set[str]:
    kept = ("_processed.parquet", "_metadata.json")
    return {path for path in shop.files("chunked_bronze") if not path.endswith(kept)}


@pytest.fixture
def shop(tmp_path: Path) -> ChunkShop:
    root = tmp_path / "shop [1] {a,b} %20"  # a name, and no pattern
    root.mkdir()
    return ChunkShop(root)


def test_rows_are_typed_or_rejected_with_their_reasons(shop: ChunkShop, spark: SparkSession) -> None:
    shop.deliver("a.jsonl", [*GOOD, BAD[0], *BAD])
    shop.deliver("b.jsonl", [{"note": "later", "id": "7", "amount": 1.1, "_metadata": 1, "_op": "delete"}])
    shop.chunk()
    reported: list[ProcessProgress] = []
    project = open_chunk_project(shop.root)
    tasks = get_tasks(shop.root)
    assert all(json.loads(json.dumps(task)) == task for task in tasks)
    done, _ = process_tasks(project, tasks, lambda: spark, reported.append)
    assert [(run.chunks, run.metrics.success, run.metrics.failed) for run in done] == [(3, 5, 4), (1, 1, 0)]
    assert (reported[-1].chunks, reported[-1].rows) == (4, 10)
    first, second = (parent.run_id for parent in shop.parents())
    found = results(shop)
    assert found[f"{first}/chunk_0_processed.parquet"] == [
        {"id": number, "amount": Decimal("1.50"), "note": f"n{number}"} for number in range(3)
    ]
    assert found[f"{second}/chunk_0_processed.parquet"] == [{"id": 7, "amount": Decimal("1.10"), "note": "later"}]
    assert found[f"{first}/chunk_2_processed.parquet"] == []
    schema = parquet.read_schema(shop.root / f"chunked_bronze/orders/{first}/chunk_2_processed.parquet")
    assert schema.types == [pa.int64(), pa.decimal128(9, 2), pa.string()]
    rejected = found["errors/chunk_2.parquet"]
    about = ("source_file", "source_row", "stage", "column", "value", "reason")
    assert [tuple(row[name] for name in about) for row in rejected] == [
        ("bronze/orders/a.jsonl", 7, "cast", "id", "x", "'x' is not a bigint"),
        ("bronze/orders/a.jsonl", 8, "constraint", "amount", "0.10", "amount 0.10 is less than the minimum 1"),
        ("bronze/orders/a.jsonl", 9, "constraint", "id", "NULL", "id is NULL, and is part of the primary key"),
    ]
    assert json.loads(rejected[1]["record"]) == {"id": "9", "amount": "0.10"}
    last = chunk_metadata(shop)[2]
    assert (last.metrics.success, last.metrics.failed) == (0, 3)
    assert last.errors_s3_path == f"archived_bronze/orders/{first}/errors/chunk_2.parquet"
    assert last.end_timestamp is not None
    assert strays(shop) == set()
    assert shop.raw_chunks() == set()


def test_a_stop_at_each_point_loses_and_doubles_nothing(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a kill would: nothing that follows the point is done, and what the process holds is not given back."""

    def stop(at: str) -> ChunkShop:
        (tmp_path / at).mkdir()
        shop = ChunkShop(tmp_path / at)
        shop.deliver("a.jsonl", [*GOOD, BAD[0]])
        shop.chunk()

        def fault(point: str) -> None:
            if point == at:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr("tidegate.chunks.process_chunks.fault", fault)
            if at != "never":
                with pytest.raises(Killed):
                    process(shop, spark)
        process(shop, spark)
        return shop

    expected = stop("never")
    for point in ("before_process", "after_process_job", "after_processed", "after_errors", "after_chunk_metadata"):
        shop = stop(point)
        assert results(shop) == results(expected), point
        metrics = [(each.input_chunk_s3_path, each.metrics) for each in chunk_metadata(shop)]
        assert metrics == [(each.input_chunk_s3_path, each.metrics) for each in chunk_metadata(expected)], point
        assert strays(shop) == set(), point


def test_a_raw_chunk_whose_result_is_there_or_in_the_table_is_only_deleted(
    shop: ChunkShop, spark: SparkSession
) -> None:
    shop.deliver("a.jsonl", GOOD)
    shop.chunk()
    chunks = {path: (shop.root / path).read_bytes() for path in shop.raw_chunks()}
    process(shop, spark)
    written = results(shop)
    for path, content in chunks.items():
        (shop.root / path).write_bytes(content)
    assert process(shop, spark) == []
    assert results(shop) == written
    (parent,) = shop.parents()
    loaded = [chunk.output_processed_s3_path for chunk in chunk_metadata(shop)]
    for path in shop.files("chunked_bronze"):
        (shop.root / path).unlink()
    update = {"processed_chunks": loaded}
    (shop.root / parent.metadata_s3_path).write_bytes(parent.model_copy(update=update).as_json())
    for path, content in chunks.items():
        (shop.root / path).write_bytes(content)
    assert process(shop, spark) == []
    assert shop.raw_chunks() == set()
    assert shop.parents()[0].end_timestamp is not None


def test_a_broken_chunk_stops_no_other(shop: ChunkShop, spark: SparkSession) -> None:
    shop.deliver("a.jsonl", GOOD)
    shop.chunk()
    broken = sorted(shop.raw_chunks())[0]
    (shop.root / broken).write_bytes((shop.root / broken).read_bytes()[:-5])
    project = open_chunk_project(shop.root)
    done, error = process_tasks(project, pending_tasks(project, None), lambda: spark)
    assert [run.metrics.success for run in done] == [2]
    assert broken in str(error)
    assert error is not None
    assert "chunks requeue" in str(error.remedy)
    assert shop.raw_chunks() == {broken}


def test_a_source_whose_rules_cannot_be_read_stops_no_other(shop: ChunkShop, spark: SparkSession) -> None:
    toml = shop.root / "tidegate.toml"
    toml.write_text(
        f'{toml.read_text()}[chunks.sources.missing]\ncontract = "missing.odcs.yml"\npattern = "m/*.jsonl"\n'
    )
    shop.deliver("a.jsonl", GOOD)
    (shop.root / "bronze/m").mkdir()
    (shop.root / "bronze/m/b.jsonl").write_text('{"id": 1}\n')
    shop.chunk()
    result = process_sources(Workspace(load_settings(shop.root)), spark=spark)
    assert [(run.data_source, run.metrics.success) for run in result.runs] == [("orders", len(GOOD))]
    assert [failure.what for failure in result.failures] == ["missing"]
    assert (result.exit_code, "missing.odcs.yml" in str(result.document()["failures"])) == (1, True)


def test_a_file_that_is_not_archived_is_not_processed(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", GOOD)
    shop.chunk()
    (parent,) = shop.parents()
    unfinished = parent.model_copy(update={"is_chunked": False})
    (shop.root / parent.metadata_s3_path).write_bytes(unfinished.as_json())
    assert get_tasks(shop.root) == []


def test_parquet_is_held_to_the_rules_as_text_is(shop: ChunkShop, spark: SparkSession) -> None:
    folder = shop.root / "bronze" / "orders"
    folder.mkdir(parents=True)
    amounts = pa.array([Decimal("2.50"), Decimal("0.50"), Decimal("1.00"), Decimal("7.00")], pa.decimal128(5, 2))
    table = pa.table({"ID": pa.array([1, 2, None, 4]), "amount": amounts, "note": [date(2026, 1, 2)] * 4})
    parquet.write_table(table, folder / "a.parquet")
    shop.deliver("b.jsonl", GOOD[:1])
    shop.chunk()
    done = process(shop, spark)
    assert [(run.metrics.success, run.metrics.failed) for run in done] == [(2, 2), (1, 0)]
    found = [row for name, rows in results(shop).items() if "processed" in name for row in rows]
    assert {"id": 1, "amount": Decimal("2.50"), "note": "2026-01-02"} in found


def test_a_model_is_held_as_a_contract_is(shop: ChunkShop, spark: SparkSession) -> None:
    (shop.root / "tidegate.toml").write_text(
        '[chunks.sources.orders]\nmodel = "shop_models_of_test:Order"\nprimary_key = ["id"]\n'
    )
    (shop.root / "shop_models_of_test.py").write_text(MODEL)
    good = {"id": 1, "amount": "1.5", "tags": ["x"], "address": {"city": "Rome"}}
    bad = [{"id": 0}, {"kind": "c"}, {"address": {"city": "R"}}, {"tags": [1, 2, 3]}, {"tags": None}, {"amount": 1.234}]
    shop.deliver("a.jsonl", [good, *({**good, **each} for each in bad)])
    shop.chunk()
    (done,) = process(shop, spark)
    assert (done.metrics.success, done.metrics.failed) == (1, len(bad))
    found = results(shop)
    (row,) = next(rows for name, rows in found.items() if "processed" in name)
    assert row["kind"] == "a"
    assert (row["address"], row["tags"]) == ({"city": "Rome", "zip": None}, ["x"])
    reasons = [(row["source_row"], row["column"]) for row in found["errors/chunk_0.parquet"]]
    assert reasons == [(2, "id"), (3, "kind"), (4, "address"), (5, "tags"), (6, "tags"), (7, "amount")]


def test_a_quality_rule_about_a_row_is_held(shop: ChunkShop, spark: SparkSession) -> None:
    rule = "    quality: [{type: sql, name: sane, query: 'amount > 100 AND note IS NULL', mustBe: 0}]\n"
    (shop.root / "orders.odcs.yml").write_text(CONTRACT + rule)
    shop.deliver("a.jsonl", [*GOOD, {"id": 8, "amount": 200}, {"id": 9, "amount": 200, "note": "x"}])
    shop.chunk()
    (done,) = process(shop, spark)
    assert (done.chunks, done.metrics.success, done.metrics.failed) == (3, 6, 1)
    (row,) = results(shop)["errors/chunk_1.parquet"]
    assert (row["source_row"], row["stage"], row["rule"]) == (6, "quality", "sane")


def test_rules_that_cannot_be_followed_leave_the_chunks(shop: ChunkShop, spark: SparkSession) -> None:
    shop.deliver("a.jsonl", GOOD)
    shop.chunk()
    chunks = shop.raw_chunks()
    contract = shop.root / "orders.odcs.yml"
    contract.write_text(contract.read_text().replace(", primaryKey: true", ""))
    with pytest.raises(ConfigError, match="source 'orders' has no primary key"):
        process(shop, spark)
    assert shop.raw_chunks() == chunks


def test_the_parent_is_not_touched(shop: ChunkShop, spark: SparkSession) -> None:
    """So that a load of earlier chunks may save it at the same time."""
    shop.deliver("a.jsonl", GOOD)
    shop.chunk()
    (before,) = shop.parents()
    process(shop, spark)
    assert shop.parents() == [BronzeToSilverProcessingMetadata.model_validate(before.model_dump())]
