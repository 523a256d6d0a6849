"""[lake] and [state]: every kind, every problem at once, and no password in any of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.config.test_settings import problems_of, settings_of
from tidegate.config import NessieServer, Secret

PASSWORD = "hunter2!@:/?#%"


def test_a_catalog_on_postgresql_takes_its_password_from_the_environment(tmp_path: Path) -> None:
    text = '[lake]\ncatalog = "jdbc"\nuri = "postgresql://db.example/lake?sslmode=require"\nuser = "me"\n'
    lake = settings_of(tmp_path, text + 'password = "${PW}"\nwarehouse = "w"', PW=PASSWORD).lake
    assert lake.jdbc is not None
    assert (lake.catalog, lake.nessie, lake.warehouse) == ("jdbc", None, tmp_path / "w")
    assert lake.jdbc.address == "postgresql://db.example:5432/lake"
    assert (lake.jdbc.user, lake.jdbc.password) == ("me", Secret(PASSWORD))
    assert PASSWORD not in repr(lake)


def test_a_nessie_server_has_a_branch_that_is_main_and_maybe_a_token(tmp_path: Path) -> None:
    text = '[lake]\ncatalog = "nessie"\nuri = "https://nessie.example/api/v2/"\nref = "prod"\ntoken = "${TOKEN}"'
    lake = settings_of(tmp_path, text, TOKEN=PASSWORD).lake
    assert lake.nessie == NessieServer("https://nessie.example/api/v2", "prod", Secret(PASSWORD))
    assert PASSWORD not in repr(lake)
    plain = settings_of(tmp_path, '[lake]\ncatalog = "nessie"\nuri = "http://127.0.0.1:19120/api/v2"').lake
    assert plain.nessie == NessieServer("http://127.0.0.1:19120/api/v2")


def test_the_history_may_be_on_postgresql_and_its_password_is_not_shown(tmp_path: Path) -> None:
    written = '[state]\nurl = "postgresql://me:${PW}@db.example/history?sslmode=require"'
    apart = '[state]\nurl = "postgresql://db.example/history?sslmode=require"\nuser = "me"\npassword = "${PW}"'
    quoted = "hunter2%21%40%3A%2F%3F%23%25"
    for settings in (settings_of(tmp_path, written, PW=quoted), settings_of(tmp_path, apart, PW=PASSWORD)):
        url = make_url(settings.state.url)
        assert (url.username, url.password, url.host, url.database) == ("me", PASSWORD, "db.example", "history")
        assert url.query == {"sslmode": "require"}
        assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[lake]\ncatalog = "nessi"', "2: 'catalog' in [lake] must be one of embedded, jdbc, nessie, not 'nessi'; did"),
        ('[lake]\ncatalog = "rest"', "2: catalog 'rest' is not supported by this version; use one of embedded, jdbc"),
        ('[lake]\ncatalog = "jdbc"', "2: catalog 'jdbc' needs 'uri' in [lake], as in uri = \"postgresql://host:5432"),
        ('[lake]\ncatalog = "nessie"', "2: catalog 'nessie' needs 'uri' in [lake], as in uri = \"http://localhost"),
        ('[lake]\nuri = "http://x/api/v2"', "2: 'uri' in [lake] belongs to catalog jdbc or nessie, not to 'embedded'"),
        (
            '[lake]\ncatalog = "jdbc"\nuri = "postgresql://h/d"\ncatalog_path = "x.db"',
            "4: 'catalog_path' in [lake] belongs to catalog embedded, not to 'jdbc'",
        ),
        ('[lake]\ncatalog = "jdbc"\nuri = "jdbc:mysql://h/d"', "3: 'uri' in [lake] databases of kind 'mysql' are not"),
        (
            '[lake]\ncatalog = "jdbc"\nuri = "postgresql://me:hunter2@h/d"',
            "3: the password in 'uri' of [lake] must come from the environment: write ${VAR} for it",
        ),
        (
            '[lake]\ncatalog = "jdbc"\nuri = "postgresql://h/d"\npassword = "hunter2"',
            "4: 'password' in [lake] must come from the environment: write it as ${VAR}",
        ),
        (
            '[lake]\ncatalog = "jdbc"\nuri = "postgresql://me@h/d"\nuser = "you"',
            "4: 'user' is in the uri of [lake] too; write it in one place",
        ),
        ('[lake]\ncatalog = "nessie"\nuri = "http://x:1/api/v1"', "3: 'uri' in [lake] must be Nessie's API of version"),
        ('[lake]\ncatalog = "nessie"\nuri = "http://a:b@x/api/v2"', "3: 'uri' in [lake] must not hold a user or pass"),
        (
            '[lake]\ncatalog = "nessie"\nuri = "http://x/api/v2"\ntoken = "${PW}"',
            "3: 'uri' in [lake] must be https: the token would be readable on the way",
        ),
        ('[state]\nurl = "mysql://h/d"', "2: [state] url must be sqlite:///PATH or postgresql://host:5432/name"),
        ('[state]\nurl = "postgresql://me:hunter2@h/d"', "2: the password in 'url' of [state] must come from the env"),
    ],
)
def test_each_mistake_is_told_with_its_line_and_without_its_secret(tmp_path: Path, text: str, expected: str) -> None:
    (problem,) = problems_of(tmp_path, text, PW="x")
    assert problem.removeprefix("tidegate.toml:").startswith(expected)
    assert "hunter2" not in problem
