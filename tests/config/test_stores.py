"""[lake] and [state]: every kind, every problem at once, and no password in any of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.config.test_settings import problems_of, settings_of
from tidegate.config import NessieServer, RestServer, Secret

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


def test_a_rest_catalog_has_a_server_its_secrets_and_a_place_for_branches(tmp_path: Path) -> None:
    text = '[lake]\ncatalog = "rest"\nuri = "https://rest.example/api/"\ncatalog_name = "shop"\nscope = "all"\n'
    more = 'credential = "${CLIENT}"\noauth2_server_uri = "https://login.example/token"\n'
    headers = '[lake.headers]\nX-Tenant = "acme"\n'
    lake = settings_of(tmp_path, text + more + headers, CLIENT=f"me:{PASSWORD}").lake
    assert lake.rest == RestServer(
        "https://rest.example/api",
        "shop",
        credential=Secret(f"me:{PASSWORD}"),
        oauth2_server_uri="https://login.example/token",
        scope="all",
        headers={"X-Tenant": Secret("acme")},
    )
    assert (lake.branches, lake.catalog_path) == (None, tmp_path / ".tidegate/branches.db")
    assert PASSWORD not in repr(lake)
    shared = 'branches = "postgresql://db.example/branches"\nuser = "me"\npassword = "${CLIENT}"\n'
    lake = settings_of(tmp_path, text + shared, CLIENT=PASSWORD).lake
    assert lake.branches is not None
    assert (lake.branches.address, lake.branches.user) == ("postgresql://db.example:5432/branches", "me")


def test_a_run_without_a_branch_may_be_let_write_main(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "").lake.on_branch_failure == "fail"
    assert settings_of(tmp_path, '[lake]\non_branch_failure = "direct"').lake.on_branch_failure == "direct"


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
        (
            '[lake]\ncatalog = "nessi"',
            "2: 'catalog' in [lake] must be one of embedded, jdbc, nessie, rest, not 'nessi'",
        ),
        ('[lake]\ncatalog = "rest"', "2: catalog 'rest' needs 'uri' in [lake], as in uri = \"http://localhost:8181\""),
        ('[lake]\ncatalog = "jdbc"', "2: catalog 'jdbc' needs 'uri' in [lake], as in uri = \"postgresql://host:5432"),
        ('[lake]\ncatalog = "nessie"', "2: catalog 'nessie' needs 'uri' in [lake], as in uri = \"http://localhost"),
        ('[lake]\nuri = "http://x"', "2: 'uri' in [lake] belongs to catalog jdbc or nessie or rest, not to 'embedded'"),
        (
            '[lake]\ncatalog = "jdbc"\nuri = "postgresql://h/d"\ncatalog_path = "x.db"',
            "4: 'catalog_path' in [lake] belongs to catalog embedded or rest, not to 'jdbc'",
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
        (
            '[lake]\ncatalog = "rest"\nuri = "x:8181"',
            "3: 'uri' in [lake] must be an Iceberg REST catalog, such as http",
        ),
        (
            '[lake]\ncatalog = "rest"\nuri = "https://x"\ncredential = "${PW}"',
            "4: 'credential' in [lake] must be id:secret of an OAuth2 client",
        ),
        (
            '[lake]\ncatalog = "rest"\nuri = "https://x"\ncredential = "a:hunter2"',
            "4: 'credential' in [lake] must come from the environment: write it as ${VAR}",
        ),
        (
            '[lake]\ncatalog = "rest"\nuri = "http://x"\n[lake.headers]\nX-Tenant = "${PW}"',
            "3: 'uri' in [lake] must be https: the header would be readable on the way",
        ),
        (
            '[lake]\ncatalog = "rest"\nuri = "https://x"\n[lake.headers]\nX-Key = "hunter2"',
            "5: 'X-Key' in 'headers' must come from the environment: write it with ${VAR}",
        ),
        (
            '[lake]\ncatalog = "rest"\nuri = "https://x"\nuser = "me"',
            "4: 'user' in [lake] is for the database of 'branches', which is not given",
        ),
        (
            '[lake]\ncatalog = "rest"\nuri = "https://x"\non_branch_failure = "direct"',
            "4: 'on_branch_failure' must be \"fail\" for catalog 'rest'",
        ),
        ('[lake]\non_branch_failure = "x"', "2: 'on_branch_failure' in [lake] must be one of fail, direct, not 'x'"),
        ('[state]\nurl = "mysql://h/d"', "2: [state] url must be sqlite:///PATH or postgresql://host:5432/name"),
        ('[state]\nurl = "postgresql://me:hunter2@h/d"', "2: the password in 'url' of [state] must come from the env"),
    ],
)
def test_each_mistake_is_told_with_its_line_and_without_its_secret(tmp_path: Path, text: str, expected: str) -> None:
    (problem,) = problems_of(tmp_path, text, PW="x")
    assert problem.removeprefix("tidegate.toml:").startswith(expected)
    assert "hunter2" not in problem
