"""A REST API as a source: contracts read it into landing; it has no tables that a model could name."""

from __future__ import annotations

from tidegate.config import RestSource
from tidegate.errors import FailureKind, SourceError
from tidegate.http_client import HttpClient, HttpRetryPolicy
from tidegate.sources.discoverer import PING_SECONDS, Ping, SourceTable
from tidegate.sources.source_errors import ping_source

__all__ = ["RestDiscoverer"]


class RestDiscoverer:
    def __init__(self, source: RestSource) -> None:
        self._source = source

    def discover(self) -> tuple[SourceTable, ...]:
        return ()

    def ping(self) -> Ping:
        return ping_source(self._source, self._answer)

    def _answer(self) -> str:
        """Whether a server answers at all; no credentials are sent, so what it answers does not matter."""
        source = self._source
        client = HttpClient(source.base_url, timeout=min(source.timeout.total_seconds(), PING_SECONDS), max_bytes=1)
        try:
            reply = client.send("GET", repeatable=True, retry=HttpRetryPolicy(attempts=1))
        finally:
            client.close()
        if reply.status is None:
            raise SourceError(
                f"cannot be reached: {reply.reason}",
                source=source.name,
                kind=reply.kind or FailureKind.CONNECTION_FAILED,
                where=f"{source.base_url} ([sources.{source.name}])",
                remedy="correct base_url of the source, and check that this machine may reach it",
            )
        return f"{source.base_url} answers (HTTP {reply.status})"
