"""What only a folder of this machine does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tidegate.errors import FailureKind, StorageError
from tidegate.storage import open_storage

KILLED = """
import sys
from tidegate.storage import open_storage
with open_storage(sys.argv[1]).writer("a/b.bin") as file:
    file.write(b"x")
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_links_out_of_the_root_are_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("s")
    (root / "folder").symlink_to(outside)
    storage = open_storage(root)
    for use in (
        lambda: storage.read("folder/secret"),
        lambda: storage.write("folder/new", b""),
        lambda: list(storage.list("folder")),
    ):
        with pytest.raises(StorageError, match="leads out"):
            use()
    (root / "file").symlink_to(outside / "secret")
    with pytest.raises(StorageError, match="'file' leads out"):
        list(storage.list())


def test_links_inside_the_root_are_files_and_no_folders(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    storage.write("a/b", b"1")
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "nowhere").symlink_to("gone")
    assert [file.path for file in storage.list()] == ["a/b", "link"]
    assert storage.read("link") == b"1"


def test_a_root_that_is_itself_a_link_is_fine(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "root").symlink_to("disk")
    storage = open_storage(tmp_path / "root")
    storage.write("a", b"1")
    assert (tmp_path / "disk" / "a").read_bytes() == b"1"


def test_what_a_killed_writer_left_is_removed_and_what_is_written_stays(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    arguments = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        storage.remove_unfinished()
        assert len(os.listdir(tmp_path / "a")) == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert list(storage.list()) == []
    storage.remove_unfinished("a")
    assert os.listdir(tmp_path / "a") == []


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("a file")
    with pytest.raises(StorageError) as raised:
        open_storage(tmp_path / "root").write("a", b"1")
    assert raised.value.kind is FailureKind.TRANSIENT
    assert raised.value.where == str(tmp_path / "root")


def test_spark_reads_an_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_storage("lake").spark_path("silver/orders") == str(tmp_path / "lake" / "silver" / "orders")
