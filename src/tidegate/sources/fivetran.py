"""The tables that Fivetran's connections write to their destination.

Its API does not report types, and of the columns only those that were configured by hand: the rest stays unknown. The
one request that has all columns makes Fivetran query the source system, which discovery must not cause.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlencode

from tidegate.config import FivetranSource
from tidegate.datatypes import Column, Relation
from tidegate.errors import FailureKind, SourceError
from tidegate.http_client import HttpClient, HttpRetryPolicy, Reply, Timing
from tidegate.names import TableName
from tidegate.sources.discoverer import PING_SECONDS, Ping, SourceTable, timeout_remedy
from tidegate.sources.source_errors import ping_source

__all__ = ["FivetranDiscoverer"]

_PAGE = 100
_CONCURRENT_REQUESTS = 4
_REQUEST_SECONDS = 30.0
_MAX_BYTES = 64 * 2**20
_MAX_REASON_LENGTH = 200

_RETRY = HttpRetryPolicy(
    attempts=6, first_pause=0.5, longest_pause=10.0, longest_retry_after=math.inf, when_unreachable=False
)

_STATUSES = {
    401: ("the key or secret is wrong", "correct api_key and api_secret of the source"),
    403: ("the key may not read this", "give the key the permission to read connections and their schemas"),
    404: ("there is no such thing", "correct api_url and group_id of the source"),
}
"""What a status means, and what to do about it."""


class FivetranDiscoverer:
    def __init__(self, source: FivetranSource, timing: Timing | None = None) -> None:
        self._source = source
        self._timing = timing

    def discover(self) -> tuple[SourceTable, ...]:
        source, client = self._source, self._client(self._source.timeout.total_seconds())
        connections = list(self._connections(client))
        pool = ThreadPoolExecutor(_CONCURRENT_REQUESTS, thread_name_prefix=f"source-{source.name}")
        try:
            configs = list(pool.map(lambda connection: self._config(client, connection), connections))
        finally:
            pool.shutdown(cancel_futures=True)
        tables: dict[TableName, SourceTable] = {}
        for config in configs:
            for table in self._tables(config):
                tables.setdefault(table.table, table)
        return tuple(tables[name] for name in sorted(tables))

    def ping(self) -> Ping:
        return ping_source(self._source, self._answer)

    def _answer(self) -> str:
        client = self._client(min(self._source.timeout.total_seconds(), PING_SECONDS))
        self._items(client.get("/v1/connections", {**self._group(), "limit": "1"}))
        return self._source.api_url

    def _client(self, seconds: float) -> _FivetranApi:
        return _FivetranApi(self._source, seconds, self._timing)

    def _group(self) -> dict[str, str]:
        return {"group_id": self._source.group_id} if self._source.group_id else {}

    def _connections(self, client: _FivetranApi) -> Iterator[str]:
        cursor: str | None = None
        cursors: set[str] = set()
        while True:
            page = client.get("/v1/connections", {**self._group(), "limit": str(_PAGE)} | _at(cursor))
            for item in self._items(page):
                yield str(item["id"])
            cursor = page["data"].get("next_cursor")
            if not cursor:
                return
            if cursor in cursors:
                raise self._unexpected_response("the pages of its connections repeat in a circle")
            cursors.add(cursor)

    def _items(self, page: Any) -> list[Mapping[str, Any]]:
        try:
            items = page["data"]["items"]
            if all(isinstance(item["id"], str) for item in items):
                return list(items)
        except (KeyError, TypeError):
            pass
        raise self._unexpected_response("the answer is no list of connections")

    def _config(self, client: _FivetranApi, connection: str) -> Mapping[str, Any]:
        """The schemas of a connection; none where it was never set up."""
        try:
            answer = client.get(f"/v1/connections/{quote(connection, safe='')}/schemas")
        except SourceError as error:
            if error.kind is FailureKind.NOT_FOUND:
                return {}
            raise
        data = answer.get("data") if isinstance(answer, dict) else None
        schemas = data.get("schemas", {}) if isinstance(data, dict) else None
        if not isinstance(schemas, dict):
            raise self._unexpected_response(f"the answer about connection '{connection}' has no schemas")
        return schemas

    def _tables(self, schemas: Mapping[str, Any]) -> Iterator[SourceTable]:
        source = self._source
        try:
            for schema_name, schema in _enabled(schemas):
                for table_name, table in _enabled(schema.get("tables")):
                    columns = tuple(Column(name) for name, _ in _enabled(table.get("columns")))
                    name = TableName(source.name, schema_name, table_name)
                    yield SourceTable(name, Relation(columns, complete=False), source.name, source.kind)
        except (AttributeError, TypeError):
            raise self._unexpected_response("the schemas of a connection have an unknown form") from None

    def _unexpected_response(self, message: str) -> SourceError:
        return SourceError(
            message,
            source=self._source.name,
            kind=FailureKind.QUERY_REJECTED,
            where=f"{self._source.api_url} ([sources.{self._source.name}])",
            remedy="correct api_url of the source: the server there is not the API of Fivetran, version 1",
        )


class _FivetranApi:
    """All requests share one time limit, which begins when this is created. Threads may share it."""

    def __init__(self, source: FivetranSource, seconds: float, timing: Timing | None) -> None:
        self._source = source
        self._seconds = seconds
        self._later = timeout_remedy(seconds, source.timeout)
        self._client = HttpClient(
            source.api_url,
            {"Authorization": f"Basic {source.token.reveal()}", "Accept": "application/json;version=2"},
            timeout=_REQUEST_SECONDS,
            time_limit=seconds,
            max_bytes=_MAX_BYTES,
            timing=timing,
        )

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """Raises SourceError."""
        target = path + (f"?{urlencode(query)}" if query else "")
        reply = self._client.send("GET", target, repeatable=True, retry=_RETRY)
        if reply.kind is not None:
            raise self._failure(reply, path)
        if len(reply.body) == _MAX_BYTES:
            message = f"the response is longer than {_MAX_BYTES} bytes"
            raise self._error(message, FailureKind.CONNECTION_FAILED, path, "correct api_url of the source")
        try:
            return json.loads(reply.body)
        except ValueError:
            remedy = "correct api_url of the source, or see whether a proxy answers in its place"
            message = "the response is not JSON"
        raise self._error(message, FailureKind.CONNECTION_FAILED, path, remedy)

    def _failure(self, reply: Reply, path: str) -> SourceError:
        assert reply.kind is not None
        if reply.kind is FailureKind.TIMEOUT:
            message, remedy = f"no response within {self._seconds:g} s", self._later
        elif reply.status is not None:
            meaning, remedy = self._meaning(reply.status)
            message = f"{meaning} (HTTP {reply.status}{_reason(reply.body)})"
        else:
            message = f"cannot be reached: {reply.reason}"
            remedy = "correct api_url of the source, and check that this machine may reach it (HTTPS_PROXY, NO_PROXY)"
            if reply.untrusted:
                remedy = (
                    "name the certificates that this machine trusts in SSL_CERT_FILE, and correct api_url of the source"
                )
        if reply.pause is not None:
            why = "it keeps failing" if reply.retry_after is None else f"it asks to wait {reply.pause:g} s"
            message += f"; {why}, and the time limit is {self._seconds:g} s"
        return self._error(message, self._kind(reply), path, remedy)

    def _kind(self, reply: Reply) -> FailureKind:
        """Only 404 means that something does not exist: on another 4xx its tables must not be left out."""
        assert reply.kind is not None
        status = reply.status or 0
        rejected = 400 <= status < 500 and status not in _STATUSES and not reply.may_pass
        return FailureKind.QUERY_REJECTED if rejected else reply.kind

    def _meaning(self, status: int) -> tuple[str, str]:
        if status in _STATUSES:
            return _STATUSES[status]
        if status == 429:
            return "too many requests", self._later
        if status >= 500:
            return "the server has a problem", self._later
        if status < 400:
            remedy = "correct api_url of the source: the key and secret are sent to that address only"
            return "the server redirects to another address", remedy
        return "the request was refused", "correct api_url of the source"

    def _error(self, message: str, kind: FailureKind, path: str, remedy: str) -> SourceError:
        where = f"{self._source.api_url}{path} ([sources.{self._source.name}])"
        return SourceError(message, source=self._source.name, kind=kind, where=where, remedy=remedy)


def _reason(body: bytes) -> str:
    """The server's own explanation, where it gives one."""
    try:
        document = json.loads(body)
        text = document["message"] if isinstance(document, dict) else ""
    except (ValueError, KeyError):
        return ""
    # Cut between words: half of a key that the server repeats would not be recognised and redacted.
    words = textwrap.shorten("".join(c for c in str(text) if c.isprintable()), _MAX_REASON_LENGTH, placeholder="…")
    return f": {words}" if words else ""


def _enabled(parts: Mapping[str, Any] | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What is synchronised, under its name in the destination. Raises TypeError where it has none."""
    for name, part in (parts or {}).items():
        if part.get("enabled", True):
            name = part.get("name_in_destination") or name
            if not isinstance(name, str) or not name:
                raise TypeError(name)
            yield name, part


def _at(cursor: str | None) -> dict[str, str]:
    return {"cursor": cursor} if cursor else {}
