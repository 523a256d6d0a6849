"""What compiling a project asks of its sources: only those it mentions, and again before it believes an error."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compiler.projects import write_project
from tests.sources.rest_server import KEY, SECRET, Reply, Request, RestServer, serving
from tidegate.compiler import Compiled, compile_from_disk, compile_project
from tidegate.config import Settings, load_settings
from tidegate.datatypes import BIGINT, Column, Relation
from tidegate.names import TableName
from tidegate.project import load_project
from tidegate.sources import Discovery, SourceTable, mentioned

ORDERS = TableName("erp", "public", "orders")


class Account:
    """The tables of a Fivetran account, which a test may change; `down`: it fails."""

    def __init__(self, *tables: str) -> None:
        self.tables = tables
        self.down = False

    def __call__(self, request: Request) -> Reply:
        if self.down:
            return Reply({"message": "closed"}, 403)
        if request.path == "/v1/connections":
            return Reply({"data": {"items": [{"id": "c"}]}})
        return Reply({"data": {"schemas": {"s": {"tables": {table: {} for table in self.tables}}}}})


@pytest.fixture
def account() -> Account:
    return Account("orders")


@pytest.fixture
def server(account: Account) -> Iterator[RestServer]:
    with serving(account) as running:
        yield running


class Shop:
    def __init__(self, root: Path, url: str) -> None:
        self.root = root
        secrets = 'api_key = "${KEY}"\napi_secret = "${SECRET}"\n'
        source = f'[project]\nname = "shop"\n[sources.ft]\nkind = "fivetran"\n{secrets}api_url = "{url}"\n'
        self.write({"tidegate.toml": source})

    def write(self, files: dict[str, str]) -> None:
        write_project(self.root, {"tidegate.toml": self.toml, **files} if self.toml else files)

    @property
    def toml(self) -> str:
        file = self.root / "tidegate.toml"
        return file.read_text() if file.exists() else ""

    @property
    def settings(self) -> Settings:
        return load_settings(self.root, env={"KEY": KEY, "SECRET": SECRET})

    def compile(self, **variables: str) -> list[str]:
        compiled = compile_from_disk(self.settings, {}, variables)[0]
        return [f"{d.severity} {d.code}" for d in compiled.diagnostics]


@pytest.fixture
def shop(tmp_path: Path, server: RestServer) -> Shop:
    return Shop(tmp_path, server.url)


def reads(table: str) -> str:
    return f"select id from {table}\n"


def test_a_table_that_came_after_the_last_answer_is_no_error(shop: Shop, server: RestServer, account: Account) -> None:
    shop.write({"models/silver/a.sql": reads("ft.s.orders")})
    assert shop.compile() == []
    asked = len(server.requests)
    assert shop.compile() == []
    assert len(server.requests) == asked
    account.tables = ("orders", "returns")
    shop.write({"models/silver/b.sql": reads("ft.s.returns")})
    assert shop.compile() == []


def test_an_error_that_stays_is_not_asked_about_at_every_save(shop: Shop, server: RestServer) -> None:
    shop.write({"models/silver/a.sql": reads("ft.s.orders"), "models/silver/b.sql": reads("ft.s.return")})
    errors = ["error UnknownDependency"]
    assert shop.compile() == errors
    assert shop.compile() == errors
    asked = len(server.requests)
    shop.write({"models/silver/b.sql": "\n" + reads("ft.s.return")})
    assert shop.compile() == errors
    assert len(server.requests) == asked
    shop.write({"models/silver/c.sql": reads("ft.s.returned")})
    assert shop.compile() == errors * 2
    assert len(server.requests) > asked


def test_an_error_of_the_text_alone_is_no_reason_to_ask(shop: Shop, server: RestServer) -> None:
    shop.write({"models/silver/a.sql": reads("ft.s.orders")})
    shop.compile()
    asked = len(server.requests)
    shop.write({"models/silver/b.sql": "select from where"})
    assert shop.compile() == ["error SqlSyntax"]
    assert len(server.requests) == asked


def test_when_the_source_is_down_the_error_is_told_with_how_old_the_answer_is(shop: Shop, account: Account) -> None:
    shop.write({"models/silver/a.sql": reads("ft.s.orders")})
    shop.compile()
    account.down = True
    shop.write({"models/silver/b.sql": reads("ft.s.returns")})
    assert shop.compile() == ["error UnknownDependency", "warning StaleSource"]
    assert shop.compile() == ["error UnknownDependency", "warning StaleSource"]


def test_a_source_that_nothing_mentions_is_not_asked_even_if_there_are_errors(shop: Shop, server: RestServer) -> None:
    shop.write({"models/silver/a.sql": "select 1 as ft, draft.id from silver.draft\n"})
    assert shop.compile() == ["error UnknownDependency"]
    assert server.requests == []


def test_a_source_that_hangs_and_is_not_used_does_not_hold_anyone(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        shop = Shop(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}")
        shop.write({"models/silver/a.sql": "select 1 as id\n"})
        assert shop.compile() == []
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.accept()


@pytest.mark.parametrize(
    "text",
    [
        "select id from `FT` . `s`.orders",
        "select id from {{ ref('ft.s.orders') }}",
        "select id from {{ var('place') }}.s.orders",
        "select id from {{ env_var('PLACE') }}.s.orders",
        "{% set place = 'ft' %}select id from {{ place }}.s.orders",
    ],
)
def test_a_source_is_asked_however_it_is_named(
    shop: Shop, server: RestServer, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("PLACE", "ft")
    shop.write({"models/silver/a.sql": text})
    assert shop.compile(**({"place": "ft"} if "{{ var(" in text else {})) == []
    assert server.requests


def test_a_test_or_a_macro_that_names_a_source_counts(shop: Shop, server: RestServer) -> None:
    shop.write(
        {
            "models/silver/a/pipeline.sql": "select 1 as id\n",
            "models/silver/a/tests/quality/t.sql": "select id from ft.s.orders where id is null\n",
        }
    )
    assert shop.compile() == []
    assert server.requests
    server.requests.clear()
    macro = "{% macro orders() %}ft.s.orders{% endmacro %}"
    other = Shop(shop.root / "other", server.url)
    other.write({"macros/m.sql": macro, "models/silver/a.sql": "select id from {{ orders() }}\n"})
    assert other.compile() == []
    assert server.requests


def test_only_a_whole_word_before_a_dot_is_a_mention() -> None:
    names = ("erp", "crm", "ft", "x")
    assert mentioned(names, ["erp.a.b", "from `CRM`\n.a", "soft.s.t left.a ft", "x y"]) == {"erp", "crm"}
    assert mentioned(names, []) == frozenset()


def compiled_over(root: Path, kind: str, lake: tuple[TableName, ...]) -> Compiled:
    write_project(
        root,
        {
            "tidegate.toml": f'[project]\nname = "shop"\n[sources.erp]\n{kind}\n',
            "models/silver/a.sql": "-- @kind: append\nselect id from erp.public.orders\n",
        },
    )
    settings = load_settings(root, env={})
    found = SourceTable(ORDERS, Relation((Column("id", BIGINT),)), "erp", "any")
    return compile_project(load_project(settings), settings, lake, {}, Discovery(tables=(found,)))


DATABASE = 'kind = "database"\nurl = "postgresql://localhost/shop"'
MANUAL = 'kind = "manual"\ntables = ["public.orders"]'


@pytest.mark.parametrize(
    ("kind", "lake", "codes"),
    [
        (DATABASE, (), ["AppendOverSource"]),
        (DATABASE, (ORDERS,), ["AppendOverSource"]),
        (MANUAL, (), ["AppendOverSource"]),
        (MANUAL, (ORDERS,), []),
    ],
)
def test_a_namesake_in_the_lake_does_not_tell_what_is_new_in_a_source_outside_it(
    tmp_path: Path, kind: str, lake: tuple[TableName, ...], codes: list[str]
) -> None:
    assert [d.code for d in compiled_over(tmp_path, kind, lake).diagnostics] == codes


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[sources.ft]\nkind = "catalog"\ncatalog_path = "no.db"\nwarehouse = "no"\n', 4),
        ('[ sources . "ft" ]\nkind = "catalog"\ncatalog_path = "no.db"\nwarehouse = "no"\n', 4),
        ('[sources]\nft = { kind = "catalog", catalog_path = "no.db", warehouse = "no" }\n', 5),
    ],
)
def test_the_line_of_a_source_is_found_however_it_is_written(tmp_path: Path, text: str, line: int) -> None:
    toml = f'[project]\nname = "shop"\n\n{text}'
    write_project(tmp_path, {"tidegate.toml": toml, "models/silver/a.sql": reads("ft.s.orders")})
    (found,) = compile_from_disk(load_settings(tmp_path, env={}), {}, {})[0].diagnostics
    assert found.code == "SourceUnavailable"
    assert found.span is not None
    assert found.span.line == line
