"""Everything about the history holds on every database that it may be kept in."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/.tidegate/state.db"
    return str(request.getfixturevalue("postgres_url"))
