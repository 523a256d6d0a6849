"""Every test of the port runs on every adapter."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.services.seaweed import BUCKET, KEY, SECRET_KEY
from tidegate.config import S3Section
from tidegate.storage import Storage, open_storage

if TYPE_CHECKING:
    from tests.services.seaweed import ObjectStore

_numbers = count(1)


@pytest.fixture
def s3(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> S3Section:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    return S3Section(endpoint=object_store.endpoint, path_style=True)


@pytest.fixture(params=["folder", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "folder":
        return open_storage(tmp_path / "root")
    return open_storage(f"s3://{BUCKET}/test {next(_numbers)}/root", request.getfixturevalue("s3"))
