"""Files below a prefix of a bucket, on AWS or any server of its protocol.

What a killed writer uploaded is no file, and is not seen; a rule of the bucket (AbortIncompleteMultipartUpload) removes
it.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import S3Store

from tidegate.config import S3Section
from tidegate.storage.checked_paths import checked_folder, checked_path
from tidegate.storage.s3_credentials import s3_keys
from tidegate.storage.s3_failures import s3_failures
from tidegate.storage.s3_streams import ObjectReader, ObjectWriter
from tidegate.storage.storage_port import StoredFile

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config

__all__ = ["S3Bucket"]

_LISTED_AT_ONCE = 1000
_WRITER = "tidegate-writer"
_RETRIES = 4
_LARGEST_COPY = 5 * 2**30
"""Bytes that the server copies by itself."""

_LARGE_PART = 2**26
_COPIED_AT_ONCE = 2**23
_BUFFERED = 2**16


class S3Bucket:
    def __init__(self, location: str, s3: S3Section, env: Mapping[str, str] | None = None) -> None:
        parts = urlsplit(location)
        self._bucket, self._prefix = parts.netloc, parts.path.strip("/")
        self._store = _store(self._bucket, self._prefix, s3, env)
        self._bucket_is_there = False

    @property
    def location(self) -> str:
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def list(self, prefix: str = "") -> Iterator[StoredFile]:
        folder = checked_folder(prefix, self.location)
        with self._failures(folder):
            pages = obstore.list(self._store, folder or None, chunk_size=_LISTED_AT_ONCE)
            files = [StoredFile(item["path"], item["size"], item["last_modified"]) for page in pages for item in page]
        for file in sorted(files, key=lambda file: file.path):  # not every server lists by name
            # A console marks folders with empty objects, which are listed without the slash of their names.
            if file.size or self.exists(file.path):
                yield file

    def exists(self, path: str) -> bool:
        return self.size(path) is not None

    def size(self, path: str) -> int | None:
        key = checked_path(path, self.location)
        try:
            with self._failures(path):
                return int(obstore.head(self._store, key)["size"])
        except FileNotFoundError:
            self._require_bucket()
            return None

    def read(self, path: str) -> bytes:
        key = checked_path(path, self.location)
        with self._failures(path):
            return bytes(obstore.get(self._store, key).bytes().to_bytes())

    @contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        key = checked_path(path, self.location)
        with io.BufferedReader(ObjectReader(self._store, key, lambda: self._failures(path)), _BUFFERED) as stream:
            yield stream

    def write(self, path: str, data: bytes) -> None:
        key = checked_path(path, self.location)
        with self._failures(path):
            obstore.put(self._store, key, data)

    @contextmanager
    def writer(self, path: str) -> Iterator[BinaryIO]:
        with self._writer(path) as stream:
            yield cast("BinaryIO", stream)

    def create(self, path: str, data: bytes) -> bool:
        key, writer = checked_path(path, self.location), uuid.uuid4().hex
        with self._failures(path):
            try:
                obstore.put(self._store, key, data, mode="create", use_multipart=False, attributes={_WRITER: writer})
            except AlreadyExistsError:
                # A request whose answer was lost is sent again, and finds what it made itself.
                return obstore.get(self._store, key, options={"head": True}).attributes.get(_WRITER) == writer
        return True

    def move(self, source: str, target: str) -> None:
        old, new = checked_path(source, self.location), checked_path(target, self.location)
        size = self.size(source)
        if size is None:
            if self.exists(target):
                return
            raise FileNotFoundError(f"there is no file {self.location}/{source}")
        if size > _LARGEST_COPY:
            self._copy_through(source, target)
        else:
            with self._failures(source):
                obstore.copy(self._store, old, new)
        self.delete(source)

    def delete(self, path: str) -> None:
        key = checked_path(path, self.location)
        with self._failures(path):
            obstore.delete(self._store, key)

    def remove_unfinished(self, prefix: str = "") -> None:
        checked_folder(prefix, self.location)

    def spark_path(self, path: str = "") -> str:
        parts = (self._bucket, self._prefix, checked_folder(path, self.location))
        return f"s3a://{'/'.join(part for part in parts if part)}"

    def _copy_through(self, source: str, target: str) -> None:
        with self.open(source) as old, self._writer(target, _LARGE_PART) as new:
            while piece := old.read(_COPIED_AT_ONCE):
                new.write(piece)

    @contextmanager
    def _writer(self, path: str, part: int | None = None) -> Iterator[ObjectWriter]:
        key = checked_path(path, self.location)
        sizes = {} if part is None else {"part": part}
        stream = ObjectWriter(self._store, key, lambda: self._failures(path), **sizes)
        with stream:
            yield stream
            stream.complete()

    def _require_bucket(self) -> None:
        """An answer without a body does not say whether a file is missing or the whole bucket."""
        if not self._bucket_is_there:
            with self._failures(""):
                next(iter(obstore.list(self._store, chunk_size=1)), None)
            self._bucket_is_there = True

    def _failures(self, path: str) -> AbstractContextManager[None]:
        return s3_failures(path, self.location)


def _store(bucket: str, prefix: str, s3: S3Section, env: Mapping[str, str] | None) -> S3Store:
    config: dict[str, Any] = {"region": s3.region, "virtual_hosted_style_request": not s3.path_style}
    if s3.endpoint is not None:
        config["aws_endpoint_url_s3"] = _endpoint(s3, bucket)
    if keys := s3_keys(s3.profile, env):
        config |= {"access_key_id": keys.access_key, "secret_access_key": keys.secret_key.reveal()}
        if keys.session_token:
            config["session_token"] = keys.session_token.reveal()
    client: ClientConfig = {"allow_http": (s3.endpoint or "").startswith("http:"), "timeout": timedelta(minutes=5)}
    return S3Store(
        bucket,
        prefix=prefix or None,
        config=cast("S3Config", config),
        client_options=client,
        retry_config={"max_retries": _RETRIES, "retry_timeout": timedelta(minutes=1)},
    )


def _endpoint(s3: S3Section, bucket: str) -> str:
    """With the bucket in the host's name, where it belongs there."""
    endpoint = s3.endpoint or ""
    return endpoint if s3.path_style else endpoint.replace("://", f"://{bucket}.", 1)
