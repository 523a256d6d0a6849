"""The tables that Fivetran's connections write to their destination.

Types are not told there, and of the columns only those that someone set by hand: the rest stays unknown. The one
request that has all columns makes Fivetran ask the source system, which discovery must not cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

from tidegate.config import FivetranSource
from tidegate.datatypes import Column, Relation
from tidegate.errors import FailureKind, SourceError
from tidegate.names import TableName
from tidegate.sources.failures import ping_source
from tidegate.sources.port import PING_SECONDS, Ping, SourceTable, more_time
from tidegate.sources.rest import RestClient, Time

__all__ = ["FivetranDiscoverer"]

_PAGE = 100
_SIDE_BY_SIDE = 4


class FivetranDiscoverer:
    def __init__(self, source: FivetranSource, passing: Time | None = None) -> None:
        self._source = source
        self._passing = passing

    def discover(self) -> tuple[SourceTable, ...]:
        source, client = self._source, self._client(self._source.timeout.total_seconds())
        connections = list(self._connections(client))
        pool = ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix=f"source-{source.name}")
        try:
            configs = list(pool.map(lambda connection: self._config(client, connection), connections))
        finally:
            pool.shutdown(cancel_futures=True)
        found: dict[TableName, SourceTable] = {}
        for config in configs:
            for table in self._tables(config):
                found.setdefault(table.table, table)
        return tuple(found[table] for table in sorted(found))

    def ping(self) -> Ping:
        return ping_source(self._source, self._answer)

    def _answer(self) -> str:
        client = self._client(min(self._source.timeout.total_seconds(), PING_SECONDS))
        self._items(client.get("/v1/connections", {**self._group(), "limit": "1"}))
        return self._source.api_url

    def _client(self, seconds: float) -> RestClient:
        source, later = self._source, more_time(seconds, self._source.timeout)
        return RestClient(source.name, source.api_url, source.token, seconds, later, self._passing)

    def _group(self) -> dict[str, str]:
        return {"group_id": self._source.group_id} if self._source.group_id else {}

    def _connections(self, client: RestClient) -> Iterator[str]:
        cursor: str | None = None
        seen: set[str] = set()
        while True:
            page = client.get("/v1/connections", {**self._group(), "limit": str(_PAGE)} | _at(cursor))
            for item in self._items(page):
                yield str(item["id"])
            cursor = page["data"].get("next_cursor")
            if not cursor:
                return
            if cursor in seen:
                raise self._strange("the pages of its connections go round in a circle")
            seen.add(cursor)

    def _items(self, page: Any) -> list[Mapping[str, Any]]:
        try:
            items = page["data"]["items"]
            if all(isinstance(item["id"], str) for item in items):
                return list(items)
        except (KeyError, TypeError):
            pass
        raise self._strange("the answer is no list of connections")

    def _config(self, client: RestClient, connection: str) -> Mapping[str, Any]:
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
            raise self._strange(f"the answer about connection '{connection}' has no schemas")
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
            raise self._strange("the schemas of a connection have an unknown form") from None

    def _strange(self, message: str) -> SourceError:
        return SourceError(
            message,
            source=self._source.name,
            kind=FailureKind.QUERY_REJECTED,
            where=f"{self._source.api_url} ([sources.{self._source.name}])",
            remedy="correct api_url of the source: what answers there is not the API of Fivetran, version 1",
        )


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
