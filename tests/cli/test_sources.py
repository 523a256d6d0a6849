"""ls --sources and doctor: what the sources of a project have, and which of them answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.services.ports import free_port
from tests.sources.rest_server import KEY, SECRET, Reply, Request, serving

MANUAL = """
[sources.erp]
kind = "manual"
[sources.erp.tables."public.orders"]
columns = { id = "bigint not null", lines = "array<int>" }
[sources.erp.tables."public.order-notes"]
"""


def declare(project: Path, text: str) -> None:
    (project / "tidegate.toml").write_text(f'[project]\nname = "shop"\n{text}')


def fivetran(url: str) -> str:
    return f"""
[sources.ft]
kind = "fivetran"
api_key = "${{FT_KEY}}"
api_secret = "${{FT_SECRET}}"
api_url = "{url}"
"""


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FT_KEY", KEY)
    monkeypatch.setenv("FT_SECRET", SECRET)


def account(request: Request) -> Reply:
    if request.path == "/v1/connections":
        return Reply({"data": {"items": [{"id": "c"}]}})
    return Reply({"data": {"schemas": {"s": {"tables": {"orders": {"columns": {"id": {}}}}}}}})


def test_tables_are_listed_with_their_columns(project: Path, tidegate: Call) -> None:
    with serving(account) as server:
        declare(project, MANUAL + fivetran(server.url))
        listed = tidegate("ls", "--sources")
        document = tidegate("ls", "--sources", "--json").document
    assert listed.code == 0
    assert [line.split() for line in listed.out.splitlines()[2:]] == [
        ["erp", "manual", "erp.public.`order-notes`", "-"],
        ["erp", "manual", "erp.public.orders", "2"],
        ["ft", "fivetran", "ft.s.orders", "1", "known"],
        ["3", "tables", "in", "2", "sources."],
    ]
    tables = {table["table"]: table for table in document["tables"]}
    assert tables["erp.public.orders"] == {
        "source": "erp",
        "kind": "manual",
        "table": "erp.public.orders",
        "schema": "public",
        "name": "orders",
        "columns": [
            {"name": "id", "type": "bigint", "nullable": False},
            {"name": "lines", "type": "array<int>", "nullable": True},
        ],
        "complete": True,
        "problem": None,
    }
    assert tables["ft.s.orders"]["columns"] == [{"name": "id", "type": None, "nullable": None}]
    assert (document["command"], document["status"], document["failures"]) == ("ls", "success", [])


def test_each_listing_asks_again(project: Path, tidegate: Call) -> None:
    with serving(account) as server:
        declare(project, fivetran(server.url))
        tidegate("ls", "--sources")
        asked = len(server.requests)
        tidegate("ls", "--sources")
        assert len(server.requests) == 2 * asked
    down = tidegate("ls", "--sources")
    assert down.code == 0
    assert "ft.s.orders" in down.out
    assert "warning: source 'ft': cannot be reached" in down.err
    assert "are used" in down.err


def test_a_source_that_fails_is_told_beside_those_that_do_not(project: Path, tidegate: Call) -> None:
    declare(project, MANUAL + fivetran(f"http://127.0.0.1:{free_port()}"))
    told = tidegate("ls", "--sources")
    assert told.code == 1
    assert "erp.public.orders" in told.out
    assert "error: source 'ft': cannot be reached: Connection refused" in told.err
    assert "  fix: correct api_url" in told.err
    (failure,) = tidegate("ls", "--sources", "--json").document["failures"]
    assert (failure["source"], failure["failure_kind"]) == ("ft", "ConnectionFailed")
    assert SECRET not in told.out + told.err + str(failure)


def test_a_project_without_sources_says_how_to_have_one(project: Path, tidegate: Call) -> None:
    assert "[sources.NAME]" in tidegate("ls", "--sources").out
    assert tidegate("ls", "--sources", "--json").document["tables"] == []
    assert not (project / ".tidegate").exists()


def test_the_doctor_has_a_line_for_each_source(project: Path, tidegate: Call) -> None:
    with serving(account) as server:
        declare(project, MANUAL + fivetran(server.url))
        checks = {check["name"]: check for check in tidegate("doctor", "--json").document["checks"]}
    assert [checks[name]["status"] for name in ("lake", "state", "source erp", "source ft")] == ["ok"] * 4


def test_the_doctor_says_how_to_fix_a_source(project: Path, tidegate: Call) -> None:
    with serving(lambda _: Reply({"message": "no"}, 401)) as server:
        declare(project, fivetran(server.url))
        told = tidegate("doctor")
    assert told.code == 1
    line = next(n for n, line in enumerate(told.out.splitlines()) if "source ft" in line)
    broken, fix = told.out.splitlines()[line : line + 2]
    assert broken.startswith("[FAIL] source ft")
    assert "the key or secret is wrong (HTTP 401: no)" in broken
    assert fix == "       fix: correct api_key and api_secret of the source"
    assert SECRET not in told.out + told.err


def test_a_listing_with_debug_shows_the_traceback_of_what_failed(project: Path, tidegate: Call) -> None:
    declare(project, fivetran(f"http://127.0.0.1:{free_port()}"))
    assert "Traceback" not in tidegate("ls", "--sources").err
    told = tidegate("ls", "--sources", "--debug").err
    assert "Traceback (most recent call last):" in told
    assert "tidegate/sources/fivetran.py" in told
    assert told.index("Traceback") < told.index("error: source 'ft': cannot be reached")
    assert SECRET not in told


def test_every_name_is_written_as_a_query_writes_it(project: Path, tidegate: Call) -> None:
    schemas = {"s-1": {"tables": {"a`b": {}}}, "größe": {"tables": {"t": {}}}}

    def odd(request: Request) -> Reply:
        items = [{"id": "c"}] if request.path == "/v1/connections" else []
        return Reply({"data": {"items": items, "schemas": schemas}})

    with serving(odd) as server:
        declare(project, fivetran(server.url))
        out = tidegate("ls", "--sources").out
    assert "ft.`s-1`.`a``b`" in out
    assert "ft.`größe`.t" in out


def test_the_doctor_looks_for_each_jar_once_also_where_a_database_is_read(project: Path, tidegate: Call) -> None:
    declare(project, f'[sources.erp]\nkind = "database"\nurl = "postgresql://127.0.0.1:{free_port()}/shop"\n')
    jars = [c["detail"] for c in tidegate("doctor", "--json").document["checks"] if c["name"] == "jar"]
    assert len([jar for jar in jars if "postgresql" in jar]) == 1
