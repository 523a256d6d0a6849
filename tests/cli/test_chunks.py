"""`tidegate chunks` and the names that schedulers know its jobs by, as far as they need no JVM."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.chunks.chunk_shop import ChunkShop
from tests.cli.calling import Call
from tidegate.chunks.bronze_loader import LoadResult
from tidegate.chunks.chunk_file import ChunkProgress
from tidegate.chunks.process_bronze import ProcessProgress
from tidegate.cli.chunk_progress import ChunkProgressBar
from tidegate.cli.commands import chunks as chunk_commands
from tidegate.operations.chunks.jobs import LoadsResult

RECORDS = [{"id": number, "amount": "1.50"} for number in range(7)]


@pytest.fixture
def shop(project: Path) -> ChunkShop:
    (project / "tidegate.toml").unlink()
    return ChunkShop(project)


def test_a_file_is_chunked_and_its_state_shown(shop: ChunkShop, tidegate: Call) -> None:
    shop.deliver("a.jsonl", [*RECORDS, "not json"])
    waiting = tidegate("chunks", "status")
    assert (waiting.code, waiting.err) == (0, "")
    assert "bronze/orders/a.jsonl  orders" in waiting.out
    assert waiting.out.endswith("1 raw file to chunk, 0 files under way, 0 complete files\n")
    done = tidegate("chunks", "chunk")
    assert (done.code, done.err) == (0, "")
    assert done.out == "bronze/orders/a.jsonl: 3 chunks, 7 rows, 1 record cannot be read\n"
    (parent,) = shop.parents()
    document = tidegate("chunks", "status", "--json").document
    (file,) = document["files"]
    assert (file["state"], file["chunks_to_process"], file["run_id"]) == ("processing", 3, parent.run_id)
    assert document["command"] == "chunks status"
    assert "processing" in tidegate("chunks", "status", "--source", "orders").out
    assert tidegate("chunk-bronze").out == "No raw file waits to be chunked.\n"


def test_a_file_that_cannot_be_read_is_a_failure_and_the_others_are_chunked(shop: ChunkShop, tidegate: Call) -> None:
    shop.deliver("a.json", ["id,amount"])
    shop.deliver("b.jsonl", RECORDS)
    (shop.root / "bronze" / "c.json").write_text("{}")
    done = tidegate("chunk-bronze")
    assert done.code == 1
    assert "bronze/orders/b.jsonl: 3 chunks, 7 rows" in done.out
    assert "failed: bronze/orders/a.json cannot be read: it begins neither with '[' nor with '{'" in done.out
    assert "bronze/c.json is left alone: no [chunks.sources.NAME] has a pattern that it matches" in done.out
    document = tidegate("chunk-bronze", "--json").document
    assert document["command"] == "chunk-bronze"
    assert document["failures"][0]["what"] == "bronze/orders/a.json"
    assert document["unclaimed"][0]["raw_file"] == "bronze/c.json"


def test_errors_are_listed_with_reasons(shop: ChunkShop, tidegate: Call) -> None:
    shop.deliver("a.jsonl", ["not json", '{"id": 1, "id": 2}', "5"])
    tidegate("chunks", "chunk")
    shown = tidegate("chunks", "errors", "--limit", "2").out
    assert "read   -       not json" in shown
    assert "it has the name 'id' twice" in shown
    assert "3 rejected rows, 2 shown: see --limit (now 2)" in shown
    document = tidegate("list-bronze-errors", "--json", "--file", "a.jsonl").document
    assert [row["source_row"] for row in document["rows"]] == [1, 2, 3]
    assert document["by_rule"] == [
        {"data_source": "orders", "stage": "read", "column": None, "rule": "read", "rows": 3}
    ]
    shop.deliver("b.jsonl", RECORDS)
    unknown = tidegate("list-bronze-errors", "--file", "b.jsonl")
    assert (unknown.code, unknown.out) == (1, "")
    assert "no raw file 'b.jsonl' is archived" in unknown.err
    assert tidegate("chunks", "chunk").code == 0
    assert tidegate("list-bronze-errors", "--file", "b.jsonl").out == "0 rejected rows\n"


def test_a_file_without_records_is_not_said_to_have_bad_ones(shop: ChunkShop, tidegate: Call) -> None:
    shop.deliver("a.jsonl", [])
    assert tidegate("chunks", "chunk").out == "bronze/orders/a.jsonl: 0 chunks, 0 rows\n"


def test_a_file_is_requeued(shop: ChunkShop, tidegate: Call) -> None:
    shop.deliver("a.jsonl", RECORDS)
    tidegate("chunks", "chunk")
    done = tidegate("chunks", "requeue", "a.jsonl")
    assert done.code == 0
    assert "waits as bronze/orders/a.jsonl; `tidegate chunks chunk` takes it" in done.out
    assert "a.jsonl (requeued)" in tidegate("chunks", "status").out
    assert tidegate("chunks", "requeue", "b.jsonl").code == 1


def test_unreadable_metadata_is_named_and_hides_nothing_else(shop: ChunkShop, tidegate: Call) -> None:
    shop.deliver("a.jsonl", RECORDS)
    shop.deliver("b.jsonl", RECORDS)
    tidegate("chunks", "chunk")
    first, second = shop.parents()
    (shop.root / first.metadata_s3_path).write_text("{")
    shown = tidegate("chunks", "status")
    assert shown.code == 1
    assert f"the metadata {first.metadata_s3_path} cannot be read" in shown.out
    assert "of a raw file that is not recorded" not in shown.out
    assert second.run_id in shown.out
    for name in ("a.jsonl", first.run_id):
        refused = tidegate("chunks", "requeue", name)
        assert refused.code == 1
        assert "copy the raw file into bronze again: it is beside its metadata in the archive" in refused.err
    assert tidegate("chunks", "requeue", "b.jsonl").code == 0
    for path in (shop.root / f"chunked_bronze/orders/{second.run_id}").iterdir():
        path.unlink()
    processed = tidegate("chunks", "process")
    assert processed.code == 1
    assert f"warning: the metadata {first.metadata_s3_path} cannot be read" in processed.out
    shop.deliver("c.jsonl", RECORDS)
    assert "bronze/orders/c.jsonl: 3 chunks" in tidegate("chunks", "chunk").out


@pytest.mark.parametrize("job", ["chunks process", "process-bronze", "chunks load", "load-bronze"])
def test_nothing_to_do_starts_no_spark(shop: ChunkShop, tidegate: Call, job: str) -> None:
    done = tidegate(*job.split())
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("No chunk waits to be ")


def test_an_unknown_source_is_an_error(shop: ChunkShop, tidegate: Call) -> None:
    for job in ("chunk", "process", "load", "errors", "status"):
        failed = tidegate("chunks", job, "--source", "ordres")
        assert failed.code == 1
        assert "did you mean orders" in failed.err.lower()


def test_all_rows_of_a_load_are_accounted_for() -> None:
    path = "archived_bronze/orders/a-0/metadata.json"
    done = LoadResult(path, "silver/orders/records.delta", "complete", 1, 3, inserted=2, repeated=1)
    (line,) = chunk_commands._load_lines(LoadsResult([done]))
    assert line == (
        "silver/orders/records.delta: a-0: 3 rows in 1 batch: 2 inserted, 0 updated, 0 unchanged, "
        "1 replaced by later rows of the same key"
    )


def test_the_bar_shows_rows_per_second_and_the_time_left() -> None:
    now = [0.0]
    bar = ChunkProgressBar(io.StringIO(), lambda: now[0])

    def text(width: int = 140) -> str:
        console = Console(file=io.StringIO(), width=width, color_system=None)
        with console.capture() as shown:
            console.print(bar.renderable())
        return shown.get()

    bar.chunking(ChunkProgress("bronze/orders/a.jsonl", 0, 0, 4000))
    now[0] = 10.0
    bar.chunking(ChunkProgress("bronze/orders/a.jsonl", 50_000, 1000, 4000))
    assert "bronze/orders/a.jsonl" in text()
    assert " 25% 50,000 rows  5,000 rows/s 30.0s left" in text()
    assert text(80).count("\n") == 1
    bar.processing(ProcessProgress("orders", 0, 4, 0, 40_000))
    now[0] = 20.0
    bar.processing(ProcessProgress("orders", 2, 4, 20_000, 40_000))
    assert "orders: 2 of 4 chunks" in text()
    assert " 50% 20,000 rows  2,000 rows/s 10.0s left" in text()
