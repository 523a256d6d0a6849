"""All sources of a project together, and what is remembered of them."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.services.ports import free_port
from tests.sources.rest_server import KEY, SECRET, Reply, Request, serving
from tidegate.config import Settings, load_settings
from tidegate.datatypes import Column, Relation, parse_type, struct
from tidegate.errors import FailureKind
from tidegate.sources import Discovery, known_tables
from tidegate.sources.discovery_cache import cache_file
from tidegate.sources.source_errors import as_source_error

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
MANUAL = """
[sources.erp]
kind = "manual"
[sources.erp.tables."public.orders"]
columns = { id = "bigint not null", amount = "decimal(10,2)" }
[sources.erp.tables."public.notes"]
"""


def settings_of(root: Path, text: str) -> Settings:
    (root / "tidegate.toml").write_text(f'[project]\nname = "shop"\n{text}')
    return load_settings(root, env={"KEY": KEY, "SECRET": SECRET})


def fivetran(name: str, url: str, more: str = "") -> str:
    return (
        f'[sources.{name}]\nkind = "fivetran"\napi_key = "${{KEY}}"\napi_secret = "${{SECRET}}"\n'
        f'api_url = "{url}"\n{more}\n'
    )


def names(discovery: Discovery) -> list[str]:
    return [str(table.table) for table in discovery.tables]


@dataclass
class Account:
    """A server's tables, which a test may change; `down`: it fails."""

    tables: tuple[str, ...] = ("orders",)
    down: bool = False

    def __call__(self, request: Request) -> Reply:
        if self.down:
            return Reply({"message": "closed"}, 403)
        if request.path == "/v1/connections":
            return Reply({"data": {"items": [{"id": "c"}]}})
        columns = {"id": {"enabled": True}}
        return Reply({"data": {"schemas": {"s": {"tables": {t: {"columns": columns} for t in self.tables}}}}})


def at(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


def test_tables_named_by_hand_have_the_columns_that_were_declared(tmp_path: Path) -> None:
    found = known_tables(settings_of(tmp_path, MANUAL))
    assert {str(t.table): t.relation for t in found.tables} == {
        "erp.public.notes": Relation(complete=False),
        "erp.public.orders": Relation(
            (Column("id", parse_type("bigint"), False), Column("amount", parse_type("decimal(10,2)"), True))  # type: ignore[arg-type]
        ),
    }
    assert (found.failures, found.warnings) == ((), ())


def test_a_source_that_fails_does_not_hide_the_others(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, fivetran("down", f"http://127.0.0.1:{free_port()}") + MANUAL)
    found = known_tables(settings)
    assert names(found) == ["erp.public.notes", "erp.public.orders"]
    (failure,) = found.failures
    assert (failure.source, failure.kind) == ("down", FailureKind.CONNECTION_FAILED)
    assert failure.message.startswith("source 'down': ")
    assert failure.remedy


def test_sources_are_asked_side_by_side(tmp_path: Path) -> None:
    together = threading.Barrier(3)

    def answer(_request: Request) -> Reply:
        together.wait(timeout=20)
        return Reply({"data": {"items": []}})

    with serving(answer) as server:
        text = "".join(fivetran(name, server.url) for name in ("a", "b", "c"))
        assert known_tables(settings_of(tmp_path, text)) == Discovery()


def test_what_nobody_expected_is_told_as_a_failure_of_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError(f"odd, with {SECRET} in it\nand more")

    monkeypatch.setattr("tidegate.sources.fivetran.FivetranDiscoverer.discover", broken)
    (failure,) = known_tables(settings_of(tmp_path, fivetran("ft", "http://localhost"))).failures
    assert failure.message == "source 'ft': unexpected error: RuntimeError: odd, with *** in it"
    assert failure.kind is FailureKind.UNKNOWN
    assert failure.__cause__ is None


def test_a_source_is_asked_again_only_when_its_time_is_over(tmp_path: Path) -> None:
    account = Account()
    with serving(account) as server:
        settings = settings_of(tmp_path, fivetran("ft", server.url, 'discover_ttl = "5m"'))
        first = known_tables(settings, clock=at(NOON))
        account.tables = ("orders", "returns")
        asked = len(server.requests)
        assert known_tables(settings, clock=at(NOON + timedelta(minutes=4, seconds=59))) == first
        assert len(server.requests) == asked
        later = known_tables(settings, clock=at(NOON + timedelta(minutes=5)))
    assert names(first) == ["ft.s.orders"]
    assert names(later) == ["ft.s.orders", "ft.s.returns"]


def test_a_refresh_asks_at_once(tmp_path: Path) -> None:
    account = Account()
    with serving(account) as server:
        settings = settings_of(tmp_path, fivetran("ft", server.url))
        known_tables(settings, clock=at(NOON))
        account.tables = ("returns",)
        assert names(known_tables(settings, refresh=True, clock=at(NOON))) == ["ft.s.returns"]
        assert names(known_tables(settings, clock=at(NOON))) == ["ft.s.returns"]


def test_what_is_declared_is_never_taken_from_the_cache(tmp_path: Path) -> None:
    known_tables(settings_of(tmp_path, MANUAL), clock=at(NOON))
    settings = settings_of(tmp_path, '[sources.erp]\nkind = "manual"\ntables = ["public.other"]')
    assert names(known_tables(settings, clock=at(NOON))) == ["erp.public.other"]
    assert not (tmp_path / ".tidegate").exists()


@pytest.mark.parametrize("refresh", [False, True])
def test_a_source_that_is_down_has_the_tables_that_it_had(tmp_path: Path, refresh: bool) -> None:
    account = Account()
    with serving(account) as server:
        settings = settings_of(tmp_path, fivetran("ft", server.url))
        first = known_tables(settings, clock=at(NOON))
        account.down = True
        found = known_tables(settings, refresh, clock=at(NOON + timedelta(days=2)))
    assert (found.tables, found.failures) == (first.tables, ())
    (warning,) = found.warnings
    assert (warning.source, warning.found_at, warning.failure.kind) == ("ft", NOON, FailureKind.AUTH_FAILED)
    assert warning.message.endswith("closed); its tables as found at 2026-11-15 12:00 UTC are used")


def test_a_source_that_is_down_and_was_never_asked_is_a_failure(tmp_path: Path) -> None:
    with serving(Account(down=True)) as server:
        found = known_tables(settings_of(tmp_path, fivetran("ft", server.url)), clock=at(NOON))
    assert [failure.source for failure in found.failures] == ["ft"]
    assert not cache_file(settings_of(tmp_path, ""), "ft").exists()


def test_a_source_at_another_address_is_another_source(tmp_path: Path) -> None:
    with serving(Account(("old",))) as old, serving(Account(("new",))) as new:
        known_tables(settings_of(tmp_path, fivetran("ft", old.url)), clock=at(NOON))
        settings = settings_of(tmp_path, fivetran("ft", new.url))
        assert names(known_tables(settings, clock=at(NOON))) == ["ft.s.new"]


def test_a_cache_from_the_future_or_in_pieces_is_not_used(tmp_path: Path) -> None:
    account = Account()
    with serving(account) as server:
        settings = settings_of(tmp_path, fivetran("ft", server.url))
        file = cache_file(settings, "ft")
        known_tables(settings, clock=at(NOON + timedelta(hours=1)))
        account.tables = ("a",)
        assert names(known_tables(settings, clock=at(NOON))) == ["ft.s.a"]
        whole = file.read_text()
        for broken in (whole[:50], "[]", '{"version": 1}', whole.replace('"schema"', '"scheme"'), "null", "\x00"):
            file.write_text(broken)
            assert names(known_tables(settings, clock=at(NOON))) == ["ft.s.a"]


def test_a_project_that_cannot_be_written_is_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / ".tidegate").write_text("a file where the folder should be")
    with serving(Account()) as server:
        settings = settings_of(tmp_path, fivetran("ft", server.url))
        assert names(known_tables(settings, clock=at(NOON))) == ["ft.s.orders"]


def test_the_cache_keeps_types_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tidegate.sources.fivetran import FivetranDiscoverer

    kinds = ("array<map<string,decimal(20,0)>>", "timestamp_ntz", "interval day to second", "variant")
    columns = [Column(kind, parse_type(kind), nullable=False) for kind in kinds]  # type: ignore[arg-type]
    columns += [Column("odd", struct([("a b", struct([("c:d", columns[0].type)]))])), Column("unknown")]
    with serving(Account()) as server:
        settings = settings_of(tmp_path, fivetran("ft", server.url))
        found = FivetranDiscoverer(settings.sources["ft"]).discover()  # type: ignore[arg-type]
        typed = (replace(found[0], relation=Relation(tuple(columns)), problem="odd"),)
        monkeypatch.setattr(FivetranDiscoverer, "discover", lambda _: typed)
        known_tables(settings, clock=at(NOON))
        monkeypatch.setattr(FivetranDiscoverer, "discover", lambda _: ())
        assert known_tables(settings, clock=at(NOON)).tables == typed
    text = cache_file(settings, "ft").read_text()
    assert KEY not in text
    assert SECRET not in text
    assert json.loads(text)["found_at"] == NOON.isoformat()


@pytest.mark.parametrize("had", [(), ("orders",)])
def test_a_source_that_failed_is_left_alone_for_a_while(tmp_path: Path, had: tuple[str, ...]) -> None:
    account = Account(had)
    with serving(account) as server:
        settings = settings_of(tmp_path, fivetran("ft", server.url, 'discover_ttl = "0s"'))
        if had:
            known_tables(settings, clock=at(NOON - timedelta(hours=1)))
        account.down = True
        failed = known_tables(settings, clock=at(NOON))
        assert bool(failed.warnings) == bool(had) != bool(failed.failures)
        asked, account.down = len(server.requests), False
        assert known_tables(settings, clock=at(NOON + timedelta(seconds=29))) == failed
        assert len(server.requests) == asked
        assert not known_tables(settings, refresh=True, clock=at(NOON + timedelta(seconds=29))).failures
        account.tables = ("orders", "new")
        assert names(known_tables(settings, clock=at(NOON + timedelta(seconds=31)))) == ["ft.s.new", "ft.s.orders"]


def test_a_source_that_failed_is_asked_at_once_when_its_settings_changed(tmp_path: Path) -> None:
    with serving(Account(down=True)) as closed, serving(Account()) as open_:
        assert known_tables(settings_of(tmp_path, fivetran("ft", closed.url)), clock=at(NOON)).failures
        settings = settings_of(tmp_path, fivetran("ft", open_.url))
        assert names(known_tables(settings, clock=at(NOON))) == ["ft.s.orders"]


def test_another_key_is_another_account(tmp_path: Path) -> None:
    with serving(Account()) as server:
        settings = settings_of(tmp_path, fivetran("ft", server.url))
        known_tables(settings, clock=at(NOON))
        other = load_settings(tmp_path, env={"KEY": "another-key", "SECRET": SECRET})
        assert [failure.source for failure in known_tables(other, clock=at(NOON)).failures] == ["ft"]
        same = load_settings(tmp_path, env={"KEY": KEY, "SECRET": "a new secret of the same account"})
        assert names(known_tables(same, clock=at(NOON))) == ["ft.s.orders"]


def test_only_the_named_sources_are_asked_and_it_is_said_who_was(tmp_path: Path) -> None:
    with serving(Account()) as server:
        settings = settings_of(tmp_path, MANUAL + fivetran("a", server.url) + fivetran("b", server.url))
        found = known_tables(settings, clock=at(NOON), names={"erp", "a"})
        assert (set(found.queried), set(found.cached)) == ({"erp", "a"}, set())
        again = known_tables(settings, clock=at(NOON))
        assert (set(again.queried), set(again.cached)) == ({"erp", "a", "b"}, {"a"})
        left = again.without({"a", "erp"})
        assert (names(left), set(left.queried), set(left.cached)) == (["b.s.orders"], {"b"}, set())


def test_a_key_and_secret_are_hidden_as_they_are_sent_too(tmp_path: Path) -> None:
    source = settings_of(tmp_path, fivetran("ft", "http://localhost")).sources["ft"]
    token = base64.b64encode(f"{KEY}:{SECRET}".encode()).decode()
    told = as_source_error(ValueError(f"Invalid header value b'Basic {token}'"), source)
    assert told.message.endswith("Invalid header value b'Basic ***'")
    harmless = RuntimeError("harmless")
    assert as_source_error(harmless, source).__cause__ is harmless
    harmless.__cause__ = ValueError(f"deep down: {SECRET}")
    assert as_source_error(harmless, source).__cause__ is None
