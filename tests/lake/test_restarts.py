"""A server that holds the catalog and is restarted while a run works with it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.sources.postgres import Postgres
from tidegate.config.database_url import parse_database_url
from tidegate.errors import FailureKind, LakeUnavailableError
from tidegate.lake.catalogs import jdbc as lake_on_postgres
from tidegate.lake.catalogs.jdbc import JdbcCatalog


def test_a_restart_is_waited_for(postgres: Postgres, postgres_url: str, tmp_path: Path) -> None:
    catalog = JdbcCatalog(parse_database_url(postgres_url), tmp_path / "warehouse")
    catalog.create_branch("run-1")
    postgres.stop()
    starting = threading.Timer(0.5, postgres.start)
    starting.start()
    catalog.drop_branch("run-1")
    starting.join()
    assert catalog.list_branches() == ()


def test_a_server_that_stays_away_is_an_error_after_a_while_and_one_that_never_answered_at_once(
    postgres: Postgres, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_on_postgres, "_RESTART_SECONDS", 0.1)
    catalog = JdbcCatalog(parse_database_url(postgres_url), tmp_path / "warehouse")
    assert catalog.head() == {}
    postgres.stop()
    try:
        with pytest.raises(LakeUnavailableError, match="Connection refused") as caught:
            catalog.head()
        monkeypatch.setattr(lake_on_postgres, "_RESTART_SECONDS", 600)
        with pytest.raises(LakeUnavailableError, match="Connection refused"):
            JdbcCatalog(parse_database_url(postgres_url), tmp_path / "warehouse").head()
    finally:
        postgres.start()
    assert caught.value.kind is FailureKind.CONNECTION_FAILED
    assert catalog.head() == {}
