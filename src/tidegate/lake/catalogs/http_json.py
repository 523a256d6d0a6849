"""Asking a server that speaks JSON over HTTP: connections, repeated reads, and what became of a request to change."""

from __future__ import annotations

import http.client
import json
import random
import ssl
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from tidegate.errors import FailureKind, LakeError, LakeUnavailableError
from tidegate.failures import seconds_to_wait

__all__ = ["JsonServer", "UnansweredError", "tries_with_pauses"]

_SECONDS = 20.0
_ATTEMPTS = 3
_LONGEST_PAUSE_SECONDS = 1.0
_LONGEST_ASKED_SECONDS = 5.0
"""A server that asks for a longer pause is not waited for here."""

_BUSY = frozenset({429, 503})
"""What is answered so was not done."""

_FRESH_SECONDS = 5.0
"""A connection that was idle for longer may be closed already, and then nobody knows what became of a request."""


class UnansweredError(LakeUnavailableError):
    """A request that changes something was sent and not answered: it may or may not have been done."""


def tries_with_pauses(tries: int, first_seconds: float) -> Iterator[int]:
    """The number of each try; between two there is a pause, which grows and differs from others' of the same time."""
    for number in range(tries):
        if number:
            longest = min(_LONGEST_PAUSE_SECONDS, first_seconds * 2**number)
            time.sleep(random.uniform(longest / 2, longest))
        yield number


class JsonServer(ABC):
    """May be shared by threads: each has its own connection. `name` is what people call such a server."""

    name: str

    def __init__(self, uri: str, headers: Mapping[str, str], seconds: float = _SECONDS) -> None:
        parts = urlsplit(uri)
        self.uri = uri
        self._host, self._port = parts.hostname or "", parts.port
        self._secure = parts.scheme == "https"
        self._path = parts.path.rstrip("/")
        self._seconds = seconds
        self._headers = {"Accept": "application/json", "User-Agent": "tidegate", **headers}
        self._mine = threading.local()

    @abstractmethod
    def _refused(self, status: int, answer: bytes) -> LakeError:
        """What an answer with a status of 300 or more means."""

    def _get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        return self._repeated("GET", path, parameters or {}, None)

    def _repeated(self, method: str, path: str, parameters: Mapping[str, str], body: Any) -> Any:
        """For requests that change nothing."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._change(method, path, parameters, body)
            except LakeUnavailableError as error:
                if isinstance(error, UnansweredError):
                    error = LakeUnavailableError(str(error), where=error.where, remedy=error.remedy)
                if attempt == _ATTEMPTS or error.kind is FailureKind.AUTH_FAILED or error.retry_after is not None:
                    raise error from None
                time.sleep(0.1 * 2**attempt * (0.5 + random.random()))
        raise AssertionError("unreachable")

    def _change(self, method: str, path: str, parameters: Mapping[str, str], body: Any) -> Any:
        """Once: whoever asks for a change must know what became of it before it asks again. A server that is busy and
        says for how long has done nothing, and is asked again then."""
        content = None if body is None else json.dumps(body).encode()
        headers = self._headers | ({"Content-Type": "application/json"} if content else {})
        target = path + (f"?{urlencode(parameters)}" if parameters else "")
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._send(method, target, content, headers)
            except LakeError as error:
                asked = error.retry_after
                if asked is None or asked > _LONGEST_ASKED_SECONDS or attempt == _ATTEMPTS:
                    raise
                time.sleep(asked + random.random() / 10)
        raise AssertionError("unreachable")

    def _send(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> Any:
        connection, sent = self._connection(), False
        try:
            if connection.sock is None:
                connection.connect()
            sent = True
            connection.request(method, self._path + path, content, dict(headers))
            response = connection.getresponse()
            status, answer = response.status, response.read()
            self._mine.used = time.monotonic()
        except (OSError, http.client.HTTPException) as error:
            self._forget()
            raise self._unreachable(error, sent) from error
        if status >= 300:
            refused = self._refused(status, answer)
            refused.retry_after = seconds_to_wait(response.getheader("Retry-After")) if status in _BUSY else None
            raise refused
        try:
            return json.loads(answer) if answer else None
        except ValueError as error:
            raise self._unavailable(f"what answers there is not {self.name}", FailureKind.CONNECTION_FAILED) from error

    def _connection(self) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._mine, "connection", None)
        if kept is not None and time.monotonic() - self._mine.used <= _FRESH_SECONDS:
            return kept
        self._forget()
        if self._secure:
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=self._seconds, context=ssl.create_default_context()
            )
        else:
            made = http.client.HTTPConnection(self._host, self._port, timeout=self._seconds)
        self._mine.connection, self._mine.used = made, time.monotonic()
        return made

    def _forget(self) -> None:
        kept: http.client.HTTPConnection | None = getattr(self._mine, "connection", None)
        if kept is not None:
            kept.close()
        self._mine.connection = None

    def _unreachable(self, error: Exception, sent: bool) -> LakeUnavailableError:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        make = UnansweredError if sent else LakeUnavailableError
        return make(
            f"the lake's catalog cannot be reached: {reason}",
            where=self.uri,
            remedy=f"see whether the {self.name} server runs and 'uri' in [lake] is right, then try again",
        )

    def _unavailable(self, message: str, kind: FailureKind, remedy: str | None = None) -> LakeUnavailableError:
        failure = LakeUnavailableError(
            message,
            where=self.uri,
            remedy=remedy or f"check 'uri' in [lake] and the {self.name} server, then try again",
        )
        failure.kind = kind
        return failure
