"""A catalog server that speaks JSON over HTTP: its errors, and whether a change was carried out."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from tidegate.errors import FailureKind, LakeError, LakeUnavailableError
from tidegate.failures import pause_before
from tidegate.http_client import HttpClient, Reply

__all__ = ["JsonServer", "MovedError", "UnansweredError"]

_LONGEST_PAUSE_SECONDS = 1.0


class UnansweredError(LakeUnavailableError):
    """A request that changes something was sent and not answered: it may or may not have been carried out."""


class MovedError(LakeError):
    """What a change expected no longer holds, or the name is taken; nothing was changed."""

    kind = FailureKind.CONFLICT


class JsonServer(ABC):
    """Threads may share one."""

    name: str
    """What people call such a server."""

    max_write_attempts = 12
    """How often a write on a contended branch is tried."""

    first_pause_seconds = 0.04
    """Before the second attempt; each later pause is twice as long."""

    def __init__(self, uri: str, headers: Mapping[str, str]) -> None:
        self.uri = uri
        # Without proxies, as Iceberg's own clients in Spark reach the same server.
        self._client = HttpClient(uri.rstrip("/"), {"Accept": "application/json", **headers}, proxies=False)

    def write_attempts(self, change: str) -> Iterator[int]:
        """The numbers of the attempts to write on a contended branch, with a growing pause between two. Raises when
        they are used up."""
        for number in range(self.max_write_attempts):
            if number:
                time.sleep(pause_before(number, self.first_pause_seconds, _LONGEST_PAUSE_SECONDS))
            yield number
        raise LakeUnavailableError(
            f"the {self.name} server did not carry out '{change}' in {self.max_write_attempts} attempts",
            where=self.uri,
            remedy="see whether the server works and whether many runs write to this lake at once, then try again",
        )

    @abstractmethod
    def _refused(self, status: int, body: bytes) -> LakeError:
        """What a response with a status of 300 or more means."""

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        return self._request("GET", path, query, repeatable=True)

    def _change(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None) -> Any:
        """Not repeated where it may have been carried out: the caller must find that out first."""
        return self._request(method, path, query, body)

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        repeatable: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        content = None if body is None else json.dumps(body).encode()
        headers = {**(headers or {}), **({"Content-Type": "application/json"} if content else {})}
        target = path + (f"?{urlencode(query)}" if query else "")
        try:
            return self._document(self._client.send(method, target, content, headers, repeatable=repeatable))
        except UnansweredError as error:
            if not repeatable:
                raise
            raise LakeUnavailableError(str(error), where=error.where, remedy=error.remedy) from None

    def _document(self, reply: Reply) -> Any:
        if reply.status is None:
            make = UnansweredError if reply.sent else LakeUnavailableError
            raise make(
                f"the lake's catalog cannot be reached: {reply.reason}",
                where=self.uri,
                remedy=f"see whether the {self.name} server runs and 'uri' in [lake] is right, then try again",
            )
        if reply.status >= 300:
            refused = self._refused(reply.status, reply.body)
            refused.retry_after = reply.retry_after if reply.was_put_off else None
            raise refused
        try:
            return json.loads(reply.body) if reply.body else None
        except ValueError as error:
            message = f"the server at this address is not {self.name}"
            raise self._unavailable(message, FailureKind.CONNECTION_FAILED) from error

    def _unavailable(self, message: str, kind: FailureKind, remedy: str | None = None) -> LakeUnavailableError:
        failure = LakeUnavailableError(
            message,
            where=self.uri,
            remedy=remedy or f"check 'uri' in [lake] and the {self.name} server, then try again",
        )
        failure.kind = kind
        return failure
