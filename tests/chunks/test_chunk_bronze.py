"""A raw file is in bronze or in the archive, and its chunks are there once, whatever happens."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.chunks.chunk_shop import ChunkShop, kill
from tidegate.chunks import chunk_bronze, chunk_file, process_bronze
from tidegate.chunks.chunk_project import open_chunk_project
from tidegate.chunks.layout import processed_path
from tidegate.chunks.requeued_files import requeue
from tidegate.errors import RawFileError, SelectionError, StorageError

RECORDS = [{"id": number, "amount": "1.50"} for number in range(7)]


@pytest.fixture
def shop(tmp_path: Path) -> ChunkShop:
    return ChunkShop(tmp_path)


def test_a_file_becomes_chunks_of_equally_many_rows(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", RECORDS)
    (task,) = chunk_bronze.get_tasks(shop.root)
    assert task == {
        "project": str(shop.root),
        "data_source": "orders",
        "raw_file_s3_path": "bronze/orders/a.jsonl",
        "unfinished": [],
    }
    done = chunk_bronze.process_task(task)
    (parent,) = shop.parents()
    assert done is not None
    assert (done["rows"], done["n_chunks"], done["unreadable"]) == (7, 3, 0)
    assert done["parent_metadata_s3_path"] == parent.metadata_s3_path
    numbered = shop.chunk_rows("id", "_source_file", "_source_row")
    assert [len(chunk) for chunk in numbered] == [3, 3, 1]
    assert numbered[2] == [("6", "bronze/orders/a.jsonl", 7)]
    assert parent.is_chunked
    assert parent.archived_raw_file == f"archived_bronze/orders/{parent.run_id}/a.jsonl"
    assert shop.files("bronze") == set()
    assert shop.strays() == set()
    assert chunk_bronze.get_tasks(shop.root) == []


def test_columns_that_come_later_are_there_too(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", [{"id": 1}, {"id": 2, "note": "x"}, {"note": ""}, {"other": 1}])
    shop.chunk()
    first, second = (parquet.read_table(shop.root / path) for path in shop.parents()[0].raw_chunks)
    assert first["note"].to_pylist() == [None, "x", ""]
    assert second["other"].to_pylist() == ["1"]


def test_records_that_cannot_be_read_are_kept_with_reason_and_number(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", [{"id": 1}, "not json", {"id": 2}, '{"id": 1, "id": 2}'])
    (done,) = shop.chunk()
    (parent,) = shop.parents()
    assert (done["rows"], done["unreadable"]) == (2, 2)
    assert parent.metrics.failed == 2
    (path,) = parent.errors_s3_path
    errors = parquet.read_table(shop.root / path).to_pylist()
    assert [(row["source_file"], row["source_row"], row["stage"], row["record"]) for row in errors] == [
        ("bronze/orders/a.jsonl", 2, "read", "not json"),
        ("bronze/orders/a.jsonl", 4, "read", '{"id": 1, "id": 2}'),
    ]
    assert errors[1]["reason"] == "it has the name 'id' twice"


@pytest.mark.parametrize("lines", [[], ["not json"]])
def test_a_file_without_rows_is_complete_at_once(shop: ChunkShop, lines: list[str]) -> None:
    shop.deliver("a.jsonl", lines)
    shop.chunk()
    (parent,) = shop.parents()
    assert parent.end_timestamp is not None
    assert (parent.n_chunks, parent.metrics.failed) == (0, len(lines))
    assert shop.files("bronze") == set()
    assert shop.strays() == set()


def test_a_file_that_cannot_be_read_stays_and_leaves_nothing(shop: ChunkShop) -> None:
    path = shop.deliver("a.json", ["[", *(f'{{"id": {number}}},' for number in range(9))])
    with pytest.raises(RawFileError, match="before the end of its list"):
        shop.chunk()
    assert path.exists()
    assert shop.files("chunked_bronze") | shop.files("archived_bronze") == set()
    with path.open("a") as file:  # it was still being written
        file.write('{"id": 9}]')
    assert shop.chunk()[0]["rows"] == 10


def test_a_file_that_grows_while_it_is_read_stays(shop: ChunkShop, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shop.deliver("a.jsonl", RECORDS)

    def grow(point: str) -> None:
        if point == "after_chunk" and path.stat().st_size < 1000:
            with path.open("a") as file:
                file.write('{"id": 99}\n' * 100)

    monkeypatch.setattr("tidegate.chunks.chunk_writer.fault", grow)
    with pytest.raises(RawFileError, match="changed while it was read"):
        shop.chunk()
    assert shop.files("chunked_bronze") | shop.files("archived_bronze") == set()
    assert shop.chunk()[0]["rows"] == 107


def test_the_same_file_delivered_again_is_another_delivery(shop: ChunkShop) -> None:
    for _ in range(3):
        shop.deliver("a.jsonl", RECORDS)
        shop.chunk()
    first, second, third = shop.parents()
    assert (second.run_id, third.run_id) == (f"{first.run_id}-2", f"{first.run_id}-3")
    assert len(shop.raw_chunks()) == 9


def test_files_are_taken_in_the_order_in_which_they_came(shop: ChunkShop) -> None:
    for name, moment in (("a", 300), ("b", 100), ("c", 200)):
        os.utime(shop.deliver(f"{name}.jsonl", RECORDS), (moment, moment))
    shop.chunk()
    assert [parent.input_raw_file[-7:-6] for parent in shop.parents()] == ["b", "c", "a"]


def test_a_name_that_comes_again_with_other_content_is_another_file(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", RECORDS)
    shop.chunk()
    shop.deliver("a.jsonl", RECORDS[:2])
    shop.chunk()
    assert [parent.n_chunks for parent in shop.parents()] == [3, 1]


def test_names_of_files_that_are_being_written_are_left_alone(shop: ChunkShop) -> None:
    for name in ("a.jsonl.tmp", ".a.jsonl", "_a.jsonl", "a.jsonl.part"):
        shop.deliver(name, RECORDS)
    assert chunk_bronze.get_tasks(shop.root) == []


def test_a_file_of_no_source_is_reported_and_not_lost(shop: ChunkShop) -> None:
    (shop.root / "bronze").mkdir()
    (shop.root / "bronze" / "other.json").write_text("{}")
    tasks, unclaimed = chunk_bronze.chunk_tasks(open_chunk_project(shop.root), None)
    assert tasks == []
    assert [file.path for file in unclaimed] == ["bronze/other.json"]
    assert "no [chunks.sources.NAME]" in unclaimed[0].reason


def test_a_file_whose_name_is_not_text_stops_no_other(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", RECORDS)
    shop.deliver(os.fsdecode(b"b\xff.jsonl"), RECORDS)
    tasks, unclaimed = chunk_bronze.chunk_tasks(open_chunk_project(shop.root), None)
    assert [task["raw_file_s3_path"] for task in tasks] == ["bronze/orders/a.jsonl"]
    assert [(file.path, file.reason) for file in unclaimed] == [
        ("bronze/orders/b\\udcff.jsonl", "its name is not UTF-8 text")
    ]


def test_a_raw_file_may_be_called_metadata(shop: ChunkShop) -> None:
    content = shop.deliver("metadata.json", RECORDS).read_bytes()
    shop.chunk()
    (parent,) = shop.parents()
    assert parent.archived_raw_file == f"archived_bronze/orders/{parent.run_id}/raw_metadata.json"
    assert (shop.root / parent.archived_raw_file).read_bytes() == content
    assert requeue(open_chunk_project(shop.root), "metadata.json").raw_file == "bronze/orders/metadata.json"


def test_chunks_whose_metadata_is_lost_are_kept_and_named(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", RECORDS)
    shop.chunk()
    (parent,) = shop.parents()
    before = shop.files("chunked_bronze")
    metadata = shop.root / parent.metadata_s3_path
    metadata.rename(shop.root / "away.json")
    assert shop.chunk() == []
    assert shop.files("chunked_bronze") == before
    problems: list[str] = []
    assert process_bronze.pending_tasks(open_chunk_project(shop.root), None, problems) == []
    (problem,) = problems
    assert problem.startswith(f"{parent.metadata_s3_path} is missing")
    (shop.root / "away.json").rename(metadata)
    assert len(process_bronze.get_tasks(shop.root)) == 1


def test_processed_chunks_are_kept_where_the_whole_archive_is_away(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", RECORDS)
    shop.chunk()
    (parent,) = shop.parents()
    chunk = shop.root / parent.raw_chunks[0]
    chunk.rename(shop.root / processed_path(parent.raw_chunks[0]))
    before = shop.files("chunked_bronze")
    (shop.root / "archived_bronze").rename(shop.root / "away")
    shop.chunk()
    assert shop.files("chunked_bronze") == before


def test_a_pattern_that_repeats_the_folder_is_named(shop: ChunkShop) -> None:
    settings = (shop.root / "tidegate.toml").read_text()
    (shop.root / "tidegate.toml").write_text(settings + 'pattern = "bronze/orders/*"\n')
    shop.deliver("a.jsonl", RECORDS)
    tasks, (unclaimed,) = chunk_bronze.chunk_tasks(open_chunk_project(shop.root), None)
    assert tasks == []
    assert unclaimed.reason == "the pattern of [chunks.sources.orders] begins with 'bronze/', to which it is relative"
    assert unclaimed.remedy == "leave 'bronze/' out of it"


def test_an_unknown_source_is_named(shop: ChunkShop) -> None:
    with pytest.raises(SelectionError, match=r"there is no source 'order' .* did you mean orders"):
        chunk_bronze.get_tasks(shop.root, "order")


def test_a_file_that_is_gone_is_nobodys_work(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", RECORDS)
    (task,) = chunk_bronze.get_tasks(shop.root)
    assert chunk_bronze.process_task(task) is not None
    assert chunk_bronze.process_task(task) is None
    assert len(shop.parents()) == 1


POINTS = [
    "before_chunks",
    "after_chunk",
    "after_chunk@3",
    "after_chunks",
    "after_parent",
    "after_raw_archive",
    "after_chunked",
]


def test_a_kill_at_each_point_loses_and_doubles_nothing(tmp_path: Path) -> None:
    shops = {}
    for at, point in enumerate([*POINTS, *POINTS]):
        (tmp_path / str(at)).mkdir()
        shops[at] = point, ChunkShop(tmp_path / str(at))
        # The second time without a row in the middle of the file that can be read.
        shops[at][1].deliver("a.jsonl", [*RECORDS[:5], *(["not json"] if at >= len(POINTS) else []), *RECORDS[5:]])
    codes = [code for at in (0, len(POINTS)) for code in kill({p: shops[at + n][1] for n, p in enumerate(POINTS)})]
    assert codes == [-signal.SIGKILL] * len(shops)
    for point, shop in shops.values():
        shop.chunk()
        assert shop.chunk() == [], point
        (parent,) = shop.parents()
        assert parent.is_chunked, point
        assert [number for chunk in shop.chunk_rows("id") for (number,) in chunk] == list("0123456"), point
        assert parent.archived_raw_file in shop.files("archived_bronze"), point
        assert len(parent.errors_s3_path) == parent.metrics.failed, point
        assert shop.files("bronze") == set(), point
        assert shop.strays() == set(), point
        assert {path.parent.name for path in shop.root.rglob("_chunking")} == set(), point


def test_a_file_that_was_replaced_after_a_kill_is_not_lost(tmp_path: Path) -> None:
    shop = ChunkShop(tmp_path)
    shop.deliver("a.jsonl", RECORDS)
    kill({"after_parent": shop})
    shop.deliver("a.jsonl", RECORDS[:1])
    shop.chunk()
    first, second = shop.parents()
    assert (first.is_chunked, first.archived_raw_file, first.n_chunks) == (True, None, 3)
    assert (second.is_chunked, second.n_chunks) == (True, 1)
    assert second.archived_raw_file in shop.files("archived_bronze")


def test_a_file_that_was_removed_after_a_kill_is_finished(tmp_path: Path) -> None:
    shop = ChunkShop(tmp_path)
    path = shop.deliver("a.jsonl", RECORDS)
    kill({"after_parent": shop})
    path.unlink()
    shop.chunk()
    (parent,) = shop.parents()
    assert (parent.is_chunked, parent.archived_raw_file) == (True, None)


def test_chunks_of_another_size_leave_no_stray_after_a_kill(tmp_path: Path) -> None:
    shop = ChunkShop(tmp_path, size=1)
    shop.deliver("a.jsonl", RECORDS)
    kill({"after_chunk@6": shop})
    (tmp_path / "tidegate.toml").unlink()
    ChunkShop(tmp_path, size=4).chunk()
    assert [len(chunk) for chunk in shop.chunk_rows("id")] == [4, 3]
    assert shop.strays() == set()


@pytest.mark.parametrize("point", ["after_chunk", "after_chunks"])
def test_a_file_that_was_replaced_before_its_chunks_were_recorded_leaves_none(tmp_path: Path, point: str) -> None:
    shop = ChunkShop(tmp_path)
    shop.deliver("a.jsonl", ["not json", *RECORDS])
    kill({point: shop})
    shop.deliver("a.jsonl", RECORDS[:1])
    shop.chunk()
    (parent,) = shop.parents()
    assert shop.strays() == set()
    assert shop.files("archived_bronze") == {parent.metadata_s3_path, parent.archived_raw_file}


def test_a_requeued_file_goes_round_again(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", RECORDS)
    shop.chunk()
    (parent,) = shop.parents()
    project = open_chunk_project(shop.root)
    done = requeue(project, "a.jsonl")
    assert done.raw_file == "bronze/orders/a.jsonl"
    assert shop.parents()[0].requeued_raw_file == "bronze/orders/a.jsonl"
    with pytest.raises(SelectionError, match="there is a file at"):
        requeue(project, parent.run_id and f"archived_bronze/orders/{parent.run_id}")
    assert shop.chunk()[0]["rows"] == 7
    assert [each.run_id for each in shop.parents()] == [parent.run_id, f"{parent.run_id}-2"]
    with pytest.raises(SelectionError, match=r"no raw file 'b\.jsonl' is archived"):
        requeue(project, "b.jsonl")


def test_metadata_that_cannot_be_read_hides_no_other_file(shop: ChunkShop) -> None:
    shop.deliver("a.jsonl", RECORDS)
    shop.chunk()
    broken = shop.root / shop.parents()[0].metadata_s3_path
    shop.deliver("b.jsonl", RECORDS)
    shop.chunk()
    broken.write_bytes(broken.read_bytes()[:100])
    project = open_chunk_project(shop.root)
    assert requeue(project, "b.jsonl").raw_file == "bronze/orders/b.jsonl"
    for name in ("a.jsonl", str(broken.parent.relative_to(shop.root))):
        with pytest.raises(StorageError, match="cannot be read") as caught:
            requeue(project, name)
        assert "copy the raw file" in (caught.value.remedy or "")
    shop.deliver("a.jsonl", RECORDS)
    assert sorted(done["raw_file"] for done in shop.chunk()) == ["bronze/orders/a.jsonl", "bronze/orders/b.jsonl"]


def test_two_processes_chunk_a_file_once(shop: ChunkShop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.deliver("a.jsonl", RECORDS)
    (task,) = chunk_bronze.get_tasks(shop.root)
    others = []
    real = chunk_file._split

    def split(*arguments: object) -> object:
        monkeypatch.setattr(chunk_file, "_split", real)
        others.append(chunk_bronze.process_task(task))
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(chunk_file, "_split", split)
    assert chunk_bronze.process_task(task) is not None
    assert others == [None]
    assert len(shop.parents()) == 1
    assert len(shop.raw_chunks()) == 3
