"""What only a bucket does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import pytest

from tests.services.ports import free_port
from tests.services.seaweed import BUCKET, KEY, SECRET_KEY
from tidegate.config import S3Section
from tidegate.errors import FailureKind, StorageError
from tidegate.storage import Storage, open_storage, s3_bucket

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 2**20
CALLS: list[Callable[[Storage], object]] = [
    lambda storage: storage.read("a"),
    lambda storage: storage.size("a"),
    lambda storage: storage.write("a", b"1"),
    lambda storage: storage.create("a", b"1"),
    lambda storage: storage.move("a", "b"),
    lambda storage: list(storage.list("a")),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_key_is_an_error_without_the_keys(
    s3: S3Section, call: Callable[[Storage], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-hunter33")
    with pytest.raises(StorageError, match="refuses") as raised:
        call(open_storage(f"s3://{BUCKET}/x", s3))
    assert raised.value.kind is FailureKind.AUTH_FAILED
    assert raised.value.where == f"s3://{BUCKET}/x"
    shown = f"{raised.value} {raised.value.remedy}"
    assert "AWS_SECRET_ACCESS_KEY" in shown
    assert KEY not in shown
    assert "hunter" not in shown
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("call", [CALLS[0], CALLS[1], CALLS[4], CALLS[5]])
def test_a_missing_bucket_is_no_missing_file(s3: S3Section, call: Callable[[Storage], object]) -> None:
    with pytest.raises(StorageError, match="there is no bucket 'no-such-bucket'") as raised:
        call(open_storage("s3://no-such-bucket/x", s3))
    assert raised.value.kind is FailureKind.NOT_FOUND


@pytest.mark.parametrize("call", CALLS)
def test_a_server_that_is_down(
    s3: S3Section, call: Callable[[Storage], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_bucket, "_RETRIES", 0)
    nobody = S3Section(endpoint=f"http://127.0.0.1:{free_port()}", path_style=True)
    with pytest.raises(StorageError, match="cannot be reached") as raised:
        call(open_storage(f"s3://{BUCKET}/x", nobody))
    assert raised.value.kind is FailureKind.CONNECTION_FAILED
    assert "[s3]" in str(raised.value.remedy)


def test_keys_come_from_a_profile(s3: S3Section, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    file = tmp_path / "credentials"
    file.write_text(f"[lake]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET_KEY}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    storage = open_storage(f"s3://{BUCKET}/profile", S3Section(s3.endpoint, path_style=True, profile="lake"))
    assert storage.create("a", b"1")
    with pytest.raises(StorageError, match="no profile 'other'") as raised:
        open_storage(f"s3://{BUCKET}/profile", S3Section(s3.endpoint, path_style=True, profile="other"))
    assert raised.value.where == str(file)


def test_a_key_without_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    with pytest.raises(StorageError, match="no AWS_SECRET_ACCESS_KEY"):
        open_storage(f"s3://{BUCKET}/x")


def test_a_file_that_is_replaced_is_not_read_on(s3: S3Section) -> None:
    storage = open_storage(f"s3://{BUCKET}/replaced", s3)
    storage.write("a", b"x" * 3 * MIB)
    with storage.open("a") as file:
        file.read(10)
        storage.write("a", b"y" * 3 * MIB)
        with pytest.raises(StorageError, match="replaced"):
            file.read()


def test_a_large_file_is_moved_in_parts(s3: S3Section, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_bucket, "_LARGEST_COPY", MIB)
    storage = open_storage(f"s3://{BUCKET}/large", s3)
    content = os.urandom(3 * MIB)
    storage.write("a", content)
    storage.move("a", "b")
    assert storage.read("b") == content
    assert [file.path for file in storage.list()] == ["b"]


def test_a_request_that_was_sent_twice_created_the_file(s3: S3Section, monkeypatch: pytest.MonkeyPatch) -> None:
    put = obstore.put

    def put_twice(*arguments: object, **options: object) -> object:
        put(*arguments, **options)
        return put(*arguments, **options)

    storage = open_storage(f"s3://{BUCKET}/twice", s3)
    monkeypatch.setattr(obstore, "put", put_twice)
    assert storage.create("claim", b"1")
    assert not storage.create("claim", b"1")


def test_neighbours_of_the_prefix_are_not_listed(s3: S3Section) -> None:
    for prefix in ("near", "near-by"):
        open_storage(f"s3a://{BUCKET}/{prefix}/", s3).write("a", b"1")
    storage = open_storage(f"s3://{BUCKET}/near", s3)
    assert [file.path for file in storage.list()] == ["a"]
    assert storage.spark_path("silver/orders") == f"s3a://{BUCKET}/near/silver/orders"
    assert storage.spark_path() == f"s3a://{BUCKET}/near"


def test_the_bucket_itself_is_a_root(s3: S3Section) -> None:
    storage = open_storage(f"s3://{BUCKET}", s3)
    assert storage.location == f"s3://{BUCKET}"
    storage.write("at/root", b"1")
    assert storage.read("at/root") == b"1"
    assert storage.spark_path("at") == f"s3a://{BUCKET}/at"


def test_folders_do_without_the_client(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom tidegate.storage import open_storage\nopen_storage('.')\nassert 'obstore' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
