"""[sources.<name>]: every kind, every problem at once, and no secret in any of them."""

from __future__ import annotations

import dataclasses
import re
from datetime import timedelta
from pathlib import Path

import pytest

from tests.config.test_settings import problems_of, settings_of
from tidegate.config import (
    CatalogSource,
    DatabaseSource,
    FivetranSource,
    JdbcSource,
    ManualSource,
    Secret,
    SqlServerSource,
)
from tidegate.datatypes import Column, Relation, parse_type
from tidegate.jsontext import json_text
from tidegate.spark.jars import drivers_of

CONFIGURATION = Path(__file__).parents[2] / "docs" / "configuration.md"
PASSWORD = "hunter2!@:/?#%"


def database_of(root: Path, lines: str, **env: str) -> DatabaseSource:
    source = settings_of(root, f'[sources.crm]\nkind = "database"\n{lines}', **env).sources["crm"]
    assert isinstance(source, DatabaseSource)
    return source


def test_every_kind_is_read(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
[sources.erp]
kind = "manual"
[sources.erp.tables."public.orders"]
columns = { id = "bigint NOT NULL", lines = "array<struct<sku:string,n:int>>", "The Name" = "varchar(20)" }
[sources.erp.tables."public.unknown"]

[sources.files]
kind = "manual"
tables = ["a.b", "a.c"]

[sources.other]
kind = "catalog"
catalog_path = "../other/catalog.db"
warehouse = "/data/warehouse"
catalog_name = "prod"
namespace = "shop"
discover_ttl = "1h"

[sources.crm]
kind = "database"
url = "jdbc:postgresql://db.example:6432/crm?ssl=true&ApplicationName=x&prepareThreshold=0"
user = "app"
password = "${CRM_PASSWORD}"
schemas = ["public", "sales"]
timeout = "5s"

[sources.ft]
kind = "fivetran"
api_key = "${FT_KEY}"
api_secret = "${FT_SECRET}"
group_id = "g1"
""",
        CRM_PASSWORD=PASSWORD,
        FT_KEY="key-1",
        FT_SECRET="secret-1",
    )
    bigint, text = parse_type("bigint"), parse_type("string")
    lines = parse_type("array<struct<sku:string,n:int>>")
    assert bigint is not None
    assert text is not None
    assert lines is not None
    assert settings.sources == {
        "erp": ManualSource(
            "erp",
            {
                "public.orders": Relation(
                    (Column("id", bigint, False), Column("lines", lines, True), Column("The Name", text, True))
                ),
                "public.unknown": Relation(complete=False),
            },
        ),
        "files": ManualSource("files", {"a.b": Relation(complete=False), "a.c": Relation(complete=False)}),
        "other": CatalogSource(
            "other", tmp_path / "../other/catalog.db", Path("/data/warehouse"), "prod", "shop", timedelta(hours=1)
        ),
        "crm": DatabaseSource(
            "crm",
            "db.example",
            6432,
            "crm",
            "app",
            Secret(PASSWORD),
            ("public", "sales"),
            {"sslmode": "verify-full", "application_name": "x"},
            timedelta(seconds=5),
        ),
        "ft": FivetranSource("ft", Secret("key-1"), Secret("secret-1"), "https://api.fivetran.com", "g1"),
    }


def test_a_user_and_password_may_be_in_the_url(tmp_path: Path) -> None:
    source = database_of(tmp_path, 'url = "postgresql://a%40b:${PW}@[::1]/x%20y?sslmode=require"', PW="p%2Fw")
    assert (source.user, source.password, source.host, source.port) == ("a@b", Secret("p/w"), "::1", 5432)
    assert (source.database, source.parameters) == ("x y", {"sslmode": "require"})
    assert source.address == "postgresql://[::1]:5432/x y"
    whole = database_of(tmp_path, 'url = "${URL}"', URL="jdbc:postgresql://h/d?user=u&password=s3cret")
    assert (whole.user, whole.password) == ("u", Secret("s3cret"))


def test_a_password_may_be_left_empty(tmp_path: Path) -> None:
    assert database_of(tmp_path, 'url = "postgresql://h/d"\npassword = "${PW:-}"').password is None


def test_all_problems_come_together_each_with_its_line(tmp_path: Path) -> None:
    text = """[project]
name = "shop"
[sources.erp]
kind = "manul"
[sources.run_x]
kind = "manual"
tables = ["public.orders", "orders", "Public.Orders", ""]
[sources.shop]
kind = "manual"
tables = 3
[sources.half]
tables = []
[sources.deep]
kind = "manual"
colums = 1
[sources.deep.tables."a.b"]
columns = { id = "bigit", ID = "int", n = 3 }
typo = 1
[sources.deep.tables."a.c"]
columns = {}
[sources.deep.tables.public.orders]
columns = { id = "bigint" }
[sources.other]
kind = "catalog"
warehouse = "s3a://bucket/x"
[sources.crm]
kind = "database"
url = "mysql://h/d"
schemas = "public"
timeout = "0s"
discover_ttl = "soon"
[sources.my]
kind = "database"
url = "jdbc:mysql://h/d"
[sources.SHOP2]
kind = "manual"
[sources.shop2]
kind = "manual"
tables = []
[sources.ft]
kind = "fivetran"
api_url = "http://api.fivetran.com"
api_kee = "x"
"""
    found = problems_of(tmp_path, text)
    expected = """
4: 'kind' in [sources.erp] must be one of manual, catalog, database, sqlserver, jdbc, fivetran, rest, not 'manul'
5: 'run_x' cannot be the name of a source: in a query it would be taken for a catalog
7: '' in [sources.run_x] must be schema.table, as in 'public.orders'
7: 'Public.Orders' is in [sources.run_x] twice; case does not count
7: 'orders' in [sources.run_x] must be schema.table, as in 'public.orders'
8: 'shop' cannot be the name of a source: the project's own tables have that namespace
10: 'tables' in [sources.shop] must be a list of schema.table, or a table for each, not 3
11: [sources.half] needs a 'kind': manual, catalog, database, sqlserver, jdbc, fivetran or rest
15: unknown key 'colums' in [sources.deep]; known are kind, tables
17: column 'id' of [sources.deep.tables."a.b"] is there twice; case does not count
17: column 'id' of [sources.deep.tables."a.b"] must have a type of Spark, such as
17: column 'n' of [sources.deep.tables."a.b"] must have a type of Spark, such as
18: unknown key 'typo' in [sources.deep.tables."a.b"]; known are columns
20: 'columns' in [sources.deep.tables."a.c"] is empty; leave it out if they are not known
21: 'public' in [sources.deep] must be schema.table, as in [sources.deep.tables."schema.table"]
23: [sources.other] needs 'catalog_path': the SQLite file of the catalog
25: 'warehouse' in [sources.other] must be a local path in this version; 's3a:' locations are not supported
28: 'url' in [sources.crm] must begin with jdbc:postgresql:// or postgresql://
29: 'schemas' in [sources.crm] must be a list of texts, not 'public'
30: 'timeout' in [sources.crm] must be 1s or more
31: 'discover_ttl' in [sources.crm]: 'soon' is not a length of time
34: 'url' in [sources.my] databases of kind 'mysql' are not supported by this version; only postgresql is
35: [sources.SHOP2] needs 'tables': a list of schema.table, or a table for each
37: 'shop2' cannot be the name of a source: another source has it; case does not count
40: [sources.ft] needs 'api_key', written as ${VAR}
40: [sources.ft] needs 'api_secret', written as ${VAR}
42: 'api_url' in [sources.ft] must be https: the key and secret would be readable on the way
43: unknown key 'api_kee' in [sources.ft]; did you mean 'api_key'?
""".strip().splitlines()
    told = [problem.removeprefix("tidegate.toml:") for problem in found]
    assert [line for line in expected if not any(problem.startswith(line) for problem in told)] == []
    assert len(told) == len(expected)


@pytest.mark.parametrize(
    "lines",
    [
        f'url = "postgresql://h/d"\npassword = "{PASSWORD}"',
        'url = "postgresql://h/d"\npassword = "${PW:-hunter2}"',
        'url = "postgresql://h/d"\npassword = "hunter${PW}"',
        'url = "postgresql://h/d"\npassword = 12345678',
        'url = "postgresql://u:hunter2@h/d"',
        'url = "postgresql://u:${PW:-hunter2}@h/d"',
        'url = "jdbc:postgresql://h/d?user=u&password=hunter2"',
    ],
)
def test_a_password_in_the_file_is_refused_and_not_repeated(tmp_path: Path, lines: str) -> None:
    (problem,) = problems_of(tmp_path, f'[sources.crm]\nkind = "database"\n{lines}', PW="from-outside")
    assert "must come from the environment" in problem
    assert "${VAR}" in problem
    assert not re.search("hunter2|12345678|from-outside", problem)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:${PW}@h:port/d",
        "postgresql://u:${PW}@/d",
        "postgresql://u:${PW}@h",
        "postgresql://u:${PW}@h/d/e",
        "postgresql://u:${PW}@h/d?sslmod=require",
        "postgresql://u:${PW}@h1:1,h2:2/d",
        "${PW}",
    ],
)
def test_a_url_that_cannot_be_used_is_told_without_its_password(tmp_path: Path, url: str) -> None:
    (problem,) = problems_of(tmp_path, f'[sources.crm]\nkind = "database"\nurl = "{url}"', PW=PASSWORD)
    assert problem.startswith("tidegate.toml:3: 'url' in [sources.crm] ")
    assert "hunter2" not in problem


def test_user_and_password_are_written_in_one_place(tmp_path: Path) -> None:
    text = '[sources.crm]\nkind = "database"\nurl = "postgresql://u:${PW}@h/d"\nuser = "v"\npassword = "${PW}"'
    assert [problem.split(": ")[1].split()[0] for problem in problems_of(tmp_path, text, PW="x")] == [
        "'user'",
        "'password'",
    ]


def test_an_empty_key_is_told(tmp_path: Path) -> None:
    text = '[sources.ft]\nkind = "fivetran"\napi_key = "${K}"\napi_secret = "${S}"'
    assert problems_of(tmp_path, text, K="", S="s") == [
        "tidegate.toml:3: 'api_key' in [sources.ft] is empty: set the environment variable that it names"
    ]


def test_a_missing_variable_is_told_once(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, '[sources.c]\nkind = "database"\nurl = "postgresql://h/d"\npassword = "${PW}"')
    assert "environment variable PW is not set" in problem


def test_secrets_show_themselves_nowhere(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path, '[sources.c]\nkind = "database"\nurl = "postgresql://u:${PW}@h/d"', PW="very-secret"
    )
    source = settings.sources["c"]
    shown = (
        repr(settings),
        str(source),
        f"{source}",
        json_text(dataclasses.asdict(settings)),
        str(Secret("very-secret")),
    )
    assert all("very-secret" not in text and "***" in text for text in shown)


def test_databases_with_a_driver(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
[sources.erp]
kind = "sqlserver"
url = "jdbc:sqlserver://db.example:1433;databaseName=erp;encrypt=true"
user = "app"
password = "${ERP_PASSWORD}"
timeout = "5s"

[sources.shop]
kind = "jdbc"
url = "jdbc:MySQL://db.example/shop"

[sources.old]
kind = "jdbc"
url = "jdbc:sybase://db.example/old"
driver = "com.sybase.Driver"
""",
        ERP_PASSWORD=PASSWORD,
    )
    assert settings.sources == {
        "erp": SqlServerSource(
            "erp",
            "jdbc:sqlserver://db.example:1433;databaseName=erp;encrypt=true",
            "com.microsoft.sqlserver.jdbc.SQLServerDriver",
            "app",
            Secret(PASSWORD),
            timedelta(seconds=5),
        ),
        "shop": JdbcSource("shop", "jdbc:MySQL://db.example/shop", "com.mysql.cj.jdbc.Driver"),
        "old": JdbcSource("old", "jdbc:sybase://db.example/old", "com.sybase.Driver"),
    }
    assert [jar.file_name for jar in drivers_of(settings)] == ["mssql-jdbc-12.10.1.jre11.jar"]
    assert PASSWORD not in repr(settings)


def test_every_problem_of_a_database_with_a_driver(tmp_path: Path) -> None:
    text = """
[sources.a]
kind = "sqlserver"
url = "jdbc:sqlserver://h;user=sa;password=hunter22"
password = "hunter22"

[sources.b]
kind = "jdbc"
url = "mysql://me@h/shop"
timeout = "1ms"

[sources.c]
kind = "jdbc"
schemas = ["x"]
"""
    problems = problems_of(tmp_path, text)
    assert {problem.partition(": ")[2].partition(";")[0] for problem in problems} == {
        "'url' in [sources.a] must hold neither user nor password: use the keys 'user' and 'password'",
        "'password' in [sources.a] must come from the environment: write it as ${VAR}",
        "'url' in [sources.b] must begin with jdbc:, as in jdbc:mysql://host:3306/shop",
        "'url' in [sources.b] must hold neither user nor password: use the keys 'user' and 'password'",
        "[sources.b] needs 'driver': the class of the JDBC driver",
        "'timeout' in [sources.b] must be 1s or more",
        "[sources.c] needs 'url': the database, as in jdbc:mysql://host:3306/shop",
        "unknown key 'schemas' in [sources.c]",
    }
    assert "hunter22" not in "".join(problems)


@pytest.mark.parametrize(
    "kind", [ManualSource, CatalogSource, DatabaseSource, FivetranSource, SqlServerSource, JdbcSource]
)
def test_every_key_is_documented(kind: type[ManualSource]) -> None:
    found = re.search(
        rf"^\*\*`kind = \"{kind.kind}\"`\*\*(.*?)(?=^\*\*`kind|^###)",
        CONFIGURATION.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert found
    parsed = {"name", "host", "port", "database", "parameters"} if kind is DatabaseSource else {"name"}
    keys = {field.name for field in dataclasses.fields(kind)} - parsed
    assert [key for key in sorted(keys) if f"`{key}`" not in found[1]] == []
