"""JSON over HTTP, for reading: waits when the server asks for it, gives up when the time is over, and says why."""

from __future__ import annotations

import http.client
import json
import random
import ssl
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from tidegate.config import Secret
from tidegate.errors import FailureKind, SourceError
from tidegate.failures import seconds_to_wait

__all__ = ["NoRedirect", "RestClient", "Time"]

_ATTEMPTS = 6
_LONGEST_REQUEST_SECONDS = 30.0
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 10.0
_MOST_BYTES = 64 * 2**20
_CHUNK = 64 * 2**10
_LONGEST_REASON = 200

_MEANINGS = {
    401: (FailureKind.AUTH_FAILED, "the key or secret is wrong", "correct api_key and api_secret of the source"),
    403: (
        FailureKind.AUTH_FAILED,
        "the key may not read this",
        "give the key the permission to read connections and their schemas",
    ),
    404: (FailureKind.NOT_FOUND, "there is no such thing", "correct api_url and group_id of the source"),
}


@dataclass(frozen=True, slots=True)
class Time:
    """How time passes; a test has its own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    wall: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class _Refusal:
    """`again`: it may work later. `after`: how many seconds the server asks to wait; None: it does not say."""

    error: SourceError
    again: bool = False
    after: float | None = None


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The standard one takes headers and body, keys among them, along to wherever the server points."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


class RestClient:
    """All requests of a client share one time limit, which begins when it is made. Threads may share a client."""

    def __init__(
        self, source: str, base: str, token: Secret, seconds: float, later: str, passing: Time | None = None
    ) -> None:
        """`later`: what to do about a server that is busy or slow."""
        self._headers = {
            "Authorization": f"Basic {token.reveal()}",
            "Accept": "application/json;version=2",
            "User-Agent": "tidegate",
        }
        self._source = source
        self._base = base
        self._later = later
        self._time = passing or Time()
        self._seconds = seconds
        self._deadline = self._time.now() + seconds
        self._opener = urllib.request.build_opener(NoRedirect())

    def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        """The JSON that is there. Raises SourceError."""
        url = f"{self._base}{path}" + (f"?{urlencode(parameters)}" if parameters else "")
        attempt = 0
        while True:
            answer = self._once(url)
            if not isinstance(answer, _Refusal):
                return answer
            attempt += 1
            pause = _pause(attempt) if answer.after is None else answer.after
            if not answer.again or attempt == _ATTEMPTS:
                raise answer.error
            if pause >= self._left():
                raise self._too_late(answer, pause)
            self._time.sleep(pause)

    def _once(self, url: str) -> Any:
        request = urllib.request.Request(url, headers=self._headers)
        try:
            with self._opener.open(request, timeout=self._patience()) as response:
                content = self._read(response)
        except urllib.error.HTTPError as error:
            with error:
                return self._refused(url, error)
        except TimeoutError:
            return self._timed_out(url)
        except (OSError, http.client.HTTPException) as error:
            return self._unreachable(url, error)
        if content is None:
            return self._timed_out(url)
        try:
            return json.loads(content)
        except ValueError:
            return _Refusal(
                self._error(
                    "the answer is not JSON",
                    FailureKind.CONNECTION_FAILED,
                    url,
                    "correct api_url of the source, or see whether a proxy answers in its place",
                )
            )

    def _read(self, response: http.client.HTTPResponse) -> bytes | None:
        """None: the time was over before the end. A server that sends a byte now and then must not hold us."""
        parts: list[bytes] = []
        size = 0
        while chunk := response.read1(_CHUNK):
            parts.append(chunk)
            size += len(chunk)
            if size > _MOST_BYTES:
                raise http.client.HTTPException(f"the answer is longer than {_MOST_BYTES} bytes")
            if self._left() <= 0:
                return None
        content = b"".join(parts)
        if response.length:
            raise http.client.IncompleteRead(content, response.length)
        return content

    def _refused(self, url: str, error: urllib.error.HTTPError) -> _Refusal:
        status = error.code
        if status in _MEANINGS:
            kind, what, remedy = _MEANINGS[status]
        elif status == 429:
            kind, what, remedy = FailureKind.QUOTA_EXCEEDED, "too many requests", self._later
        elif status >= 500:
            kind, what, remedy = FailureKind.TRANSIENT, "the server has a problem", self._later
        elif status < 400:
            kind, what = FailureKind.CONNECTION_FAILED, "the server points elsewhere"
            remedy = "correct api_url of the source: the key and secret are sent to that address only"
        else:
            kind, what, remedy = FailureKind.QUERY_REJECTED, "the request was refused", "correct api_url of the source"
        reason = _reason(error)
        told = self._error(f"{what} (HTTP {status}{reason})", kind, url, remedy)
        again = status == 429 or status >= 500
        return _Refusal(
            told, again, seconds_to_wait(error.headers.get("Retry-After"), self._time.wall()) if again else None
        )

    def _timed_out(self, url: str) -> _Refusal:
        message = f"no answer within {self._seconds:g} s"
        return _Refusal(self._error(message, FailureKind.TIMEOUT, url, self._later), again=self._left() > 0)

    def _unreachable(self, url: str, error: Exception) -> _Refusal:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(cause, TimeoutError):
            return self._timed_out(url)
        remedy = "correct api_url of the source, and check that this machine may reach it (HTTPS_PROXY, NO_PROXY)"
        if isinstance(cause, ssl.SSLError):
            remedy = (
                "name the certificates that this machine trusts in SSL_CERT_FILE, and correct api_url of the source"
            )
        reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
        told = self._error(f"cannot be reached: {reason}", FailureKind.CONNECTION_FAILED, url, remedy)
        broken = isinstance(cause, ConnectionResetError | BrokenPipeError | http.client.IncompleteRead)
        return _Refusal(told, again=broken)

    def _too_late(self, refusal: _Refusal, pause: float) -> SourceError:
        error = refusal.error
        asked = f"it asks to wait {pause:g} s" if refusal.after is not None else "it went on failing"
        message = f"{error.message}; {asked}, and the time limit is {self._seconds:g} s"
        return SourceError(message, source=self._source, kind=error.kind, where=error.where, remedy=error.remedy)

    def _left(self) -> float:
        return self._deadline - self._time.now()

    def _patience(self) -> float:
        return max(0.1, min(self._left(), _LONGEST_REQUEST_SECONDS))

    def _error(self, message: str, kind: FailureKind, url: str, remedy: str) -> SourceError:
        where = f"{url.partition('?')[0]} ([sources.{self._source}])"
        return SourceError(message, source=self._source, kind=kind, where=where, remedy=remedy)


def _pause(attempt: int) -> float:
    """Longer each time, and not the same for all who failed at the same moment."""
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * float(1 << (attempt - 1)))
    return longest * random.uniform(0.5, 1)


def _reason(error: urllib.error.HTTPError) -> str:
    """The server's own words, where it has some."""
    try:
        document = json.loads(error.read(_CHUNK))
        text = document["message"] if isinstance(document, dict) else ""
    except (ValueError, KeyError, OSError, http.client.HTTPException):
        return ""
    # Cut between words: half a key that the server repeats would not be known as one, and be shown.
    words = textwrap.shorten("".join(c for c in str(text) if c.isprintable()), _LONGEST_REASON, placeholder="…")
    return f": {words}" if words else ""
