"""SeaweedFS on loopback: a real server of the S3 protocol, with one bucket and one user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO

import httpx
import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from tests.services.ports import free_port

BUCKET = "lake-one"
KEY, SECRET_KEY = "tidegate-test", "seaweed-hunter22"
_START_SECONDS = 60
_GRPC = 10_000
"""The server opens a second port so far above each that it is given."""


@dataclass(frozen=True)
class ObjectStore:
    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running_seaweed() -> Iterator[ObjectStore]:
    with tempfile.TemporaryDirectory(prefix="tidegate-s3-") as folder, tempfile.TemporaryFile() as log:
        master, volume, filer, s3, admin = (free_port(_GRPC) for _ in range(5))
        process = subprocess.Popen(
            _command(Path(folder), master, volume, filer, s3, admin),
            stdout=log,
            stderr=log,
            env={**os.environ, "TMPDIR": folder, "HOME": folder},
            cwd=folder,
        )
        try:
            store = ObjectStore(s3)
            _wait_for(store, process, log)
            yield store
        finally:
            process.kill()
            process.wait()


def _command(folder: Path, master: int, volume: int, filer: int, s3: int, admin: int) -> Sequence[str]:
    identity = {
        "name": "test",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET_KEY}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    (folder / "data").mkdir()
    ports = {"master": master, "volume": volume, "filer": filer, "s3": s3, "admin": admin}
    return [
        str(Path(sys.executable).with_name("weed")),
        "-logtostderr=true",
        "mini",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        f"-dir={folder / 'data'}",
        *(f"-{name}.port={port}" for name, port in ports.items()),
        "-master.telemetry=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-webdav=false",
        "-admin.ui=false",
        f"-bucket={BUCKET}",
        f"-s3.config={folder / 's3.json'}",
    ]


def _wait_for(store: ObjectStore, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    """Until it refuses a stranger the bucket, which it does once it has its users, and has the bucket, which it makes
    after that."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(f"{store.endpoint}/{BUCKET}", timeout=1).status_code == 403 and _has_bucket(store):
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.05)
    log.seek(0)
    raise RuntimeError(f"SeaweedFS did not start: {log.read().decode(errors='replace')[-2000:]}")


def _has_bucket(store: ObjectStore) -> bool:
    bucket = S3Store(
        BUCKET,
        endpoint=store.endpoint,
        access_key_id=KEY,
        secret_access_key=SECRET_KEY,
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
        retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=1)},
    )
    try:
        next(iter(obstore.list(bucket, chunk_size=1)), None)
    except BaseError:
        return False
    return True


def s3a_jars() -> tuple[Path, ...]:
    """What Spark needs to reach it."""
    from tidegate.spark.jars import ensure_jars
    from tidegate.spark.java import find_java
    from tidegate.spark.s3a import S3A_JARS

    return ensure_jars(find_java(), print, S3A_JARS)


if __name__ == "__main__":
    s3a_jars()
