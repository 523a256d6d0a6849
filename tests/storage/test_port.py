"""What every storage does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

import pytest

from tidegate.errors import StorageError
from tidegate.storage import Storage

MIB = 2**20
ODD_NAMES = ["ä/ö.txt", "a/with space.txt", "a/day=1/x+y", "a/100%.txt", "a/a%20b", "a/#?&~*", "a/_b", "a/.c"]


def _write_and_fail(file: BinaryIO, written: int) -> None:
    file.write(b"x" * written)
    raise ValueError("half way")


def listed(storage: Storage, prefix: str = "") -> list[str]:
    return [file.path for file in storage.list(prefix)]


def test_what_was_written_is_read(storage: Storage) -> None:
    storage.write("bronze/orders/a.json", b"[1]")
    assert storage.read("bronze/orders/a.json") == b"[1]"
    assert storage.exists("bronze/orders/a.json")
    assert storage.size("bronze/orders/a.json") == 3


def test_an_empty_file_is_a_file(storage: Storage) -> None:
    storage.write("a", b"")
    assert storage.read("a") == b""
    assert storage.size("a") == 0
    with storage.open("a") as file:
        assert file.read() == b""


def test_a_file_is_replaced_as_a_whole(storage: Storage) -> None:
    storage.write("a.json", b"a long text")
    storage.write("a.json", b"short")
    assert storage.read("a.json") == b"short"


def test_a_file_that_is_not_there(storage: Storage) -> None:
    assert not storage.exists("none/here.json")
    assert storage.size("none/here.json") is None
    assert listed(storage, "none") == []
    storage.delete("none/here.json")
    with pytest.raises(FileNotFoundError):
        storage.read("none/here.json")
    with pytest.raises(FileNotFoundError), storage.open("none/here.json"):
        pass


def test_a_folder_is_not_a_file(storage: Storage) -> None:
    storage.write("a/b", b"1")
    assert not storage.exists("a")
    assert storage.size("a") is None


def test_a_list_is_sorted_by_path_through_all_folders(storage: Storage) -> None:
    names = ["a/b/2.txt", "a/b/10.txt", "a/b.txt", "a-b/1.txt", "a/b-c/1.txt", "z", *ODD_NAMES]
    for name in names:
        storage.write(name, name.encode())
    assert listed(storage) == sorted(names)
    assert listed(storage, "a") == sorted(name for name in names if name.startswith("a/"))
    assert listed(storage, "a/") == listed(storage, "a")
    assert listed(storage, "a/b") == ["a/b/10.txt", "a/b/2.txt"]


def test_a_listed_file_has_its_size_and_time(storage: Storage) -> None:
    storage.write("a/b", b"12345")
    (file,) = storage.list("a")
    assert (file.path, file.size) == ("a/b", 5)
    assert abs(datetime.now(UTC) - file.modified) < timedelta(minutes=1)


def test_a_stream_seeks(storage: Storage) -> None:
    content = bytes(range(256)) * 20_000
    storage.write("a.bin", content)
    with storage.open("a.bin") as file:
        assert file.read(3) == content[:3]
        file.seek(-8, 2)
        assert file.read() == content[-8:]
        file.seek(1000)
        assert file.tell() == 1000
        assert file.read(3 * MIB) == content[1000 : 1000 + 3 * MIB]
        assert file.read() == content[1000 + 3 * MIB :]
        assert file.read() == b""


def test_a_stream_is_read_by_lines(storage: Storage) -> None:
    storage.write("a.jsonl", b"".join(b"%d\n" % number for number in range(100_000)))
    with storage.open("a.jsonl") as file:
        assert sum(int(line) for line in file) == sum(range(100_000))


def test_a_streamed_file_appears_when_it_is_complete(storage: Storage) -> None:
    with storage.writer("a/b.bin") as file:
        for _ in range(12):
            file.write(b"x" * MIB)
        assert not storage.exists("a/b.bin")
        assert listed(storage) == []
    assert storage.size("a/b.bin") == 12 * MIB
    assert listed(storage) == ["a/b.bin"]


def test_a_streamed_file_of_nothing_appears(storage: Storage) -> None:
    with storage.writer("a/b.bin"):
        pass
    assert storage.read("a/b.bin") == b""


@pytest.mark.parametrize("written", [10, 12 * MIB])
def test_a_streamed_file_whose_writer_fails_does_not_appear(storage: Storage, written: int) -> None:
    storage.write("a/old.bin", b"old")
    for name in ("a/old.bin", "a/new.bin"):
        with pytest.raises(ValueError, match="half way"), storage.writer(name) as file:
            _write_and_fail(file, written)
    assert listed(storage) == ["a/old.bin"]
    assert storage.read("a/old.bin") == b"old"


def test_a_file_is_created_once(storage: Storage) -> None:
    assert storage.create("a/claim.json", b"first")
    assert not storage.create("a/claim.json", b"second")
    assert storage.read("a/claim.json") == b"first"
    assert listed(storage) == ["a/claim.json"]


def test_of_several_that_create_a_file_one_succeeds(storage: Storage) -> None:
    contents = [b"%d" % number for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        created = list(pool.map(lambda content: storage.create("a/claim.json", content), contents))
    assert created.count(True) == 1
    assert storage.read("a/claim.json") == contents[created.index(True)]


def test_a_moved_file_is_at_its_new_place_alone(storage: Storage) -> None:
    storage.write("bronze/a.json", b"1")
    storage.move("bronze/a.json", "archived_bronze/orders/run-1/a.json")
    assert listed(storage) == ["archived_bronze/orders/run-1/a.json"]


def test_a_move_repeats_without_harm(storage: Storage) -> None:
    storage.write("a", b"1")
    storage.move("a", "b")
    storage.move("a", "b")
    assert storage.read("b") == b"1"


def test_a_move_that_was_interrupted_is_repeated(storage: Storage) -> None:
    storage.write("a", b"1")
    storage.write("b", b"1")
    storage.move("a", "b")
    assert listed(storage) == ["b"]


def test_a_move_of_nothing_fails_and_leaves_nothing(storage: Storage) -> None:
    with pytest.raises(FileNotFoundError):
        storage.move("none", "there/b")
    assert listed(storage) == []


def test_a_deleted_file_is_gone(storage: Storage) -> None:
    storage.write("a/b", b"1")
    storage.delete("a/b")
    assert listed(storage) == []
    assert not storage.exists("a/b")


@pytest.mark.parametrize("path", ["../a", "a/../../b", "/etc/passwd", "a//b", "./a", "a/.", "", "a/", ".."])
def test_a_path_that_leads_out_is_refused(storage: Storage, path: str) -> None:
    for use in (storage.read, storage.exists, storage.size, storage.delete):
        with pytest.raises(StorageError) as raised:
            use(path)
        assert raised.value.where == storage.location
        assert raised.value.remedy
    with pytest.raises(StorageError):
        storage.write(path, b"")
    with pytest.raises(StorageError):
        storage.create(path, b"")
    with pytest.raises(StorageError), storage.writer(path):
        pass
    with pytest.raises(StorageError):
        storage.move("a", path)


@pytest.mark.parametrize("prefix", ["..", "/etc", "a/../.."])
def test_a_list_of_what_is_outside_is_refused(storage: Storage, prefix: str) -> None:
    with pytest.raises(StorageError, match="leads out"):
        list(storage.list(prefix))
    with pytest.raises(StorageError):
        storage.spark_path(prefix)
