"""Every test of the port runs on every adapter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.storage import Storage, open_storage


@pytest.fixture(params=["folder"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return open_storage(tmp_path / "root")
