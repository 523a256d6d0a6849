"""Posting a document: signed, within its time, again after a while where that may help."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import queue
import random
import re
import ssl
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from tidegate import __version__
from tidegate.config import Endpoint, Secret, format_duration
from tidegate.errors import FailureKind
from tidegate.failures import kind_of_status, seconds_to_wait
from tidegate.hooks.answer import Answer, as_shown, one_line
from tidegate.sources.rest import NoRedirect

__all__ = ["DELIVERY_HEADER", "SIGNATURE_HEADER", "Wait", "post"]

SIGNATURE_HEADER = "X-Tidegate-Signature"
DELIVERY_HEADER = "X-Tidegate-Delivery"

Wait = Callable[[float], bool]
"""Waits so many seconds; True: there is no time for another try."""

_LONGEST_PAUSE = 60.0
_MOST_BYTES = 16 * 2**10
_LONG_PART = 8


@dataclass(frozen=True, slots=True)
class _Try:
    """`again`: another try may go better. `after`: the seconds that the server asks to wait."""

    answer: Answer
    again: bool = False
    after: float | None = None


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def post(
    endpoint: Endpoint,
    body: bytes,
    headers: Mapping[str, Secret] | None = None,
    wait: Wait = _sleep,
    hidden: Sequence[Secret] = (),
) -> Answer:
    """Tells how it went; never raises. All tries of one document have the same delivery id and signature.

    `hidden`: what the body holds and nobody may be shown, should the server repeat it.
    """
    started = time.monotonic()
    headers = {**(headers or {}), **endpoint.headers}
    request = _request(endpoint, body, {name: value.reveal() for name, value in headers.items()})
    number = 0
    while True:
        number += 1
        tried = _within(endpoint, request)
        pause = _pause(endpoint, number) if tried.after is None else tried.after
        if not tried.again or number > endpoint.retries or pause > _LONGEST_PAUSE or wait(pause):
            told = as_shown(tried.answer.told, [*hidden, *_secrets(endpoint, headers)])
            took = round((time.monotonic() - started) * 1000)
            return replace(tried.answer, told=told, tries=number, duration_ms=took)


def _secrets(endpoint: Endpoint, headers: Mapping[str, Secret]) -> Iterator[Secret]:
    """Whole and in parts: a server may repeat the token without the word before it, or one step of the path."""
    if endpoint.secret is not None:
        yield endpoint.secret
    yield endpoint.url
    yield from (Secret(part) for part in re.split(r"[/?&=#]", endpoint.url.reveal())[3:] if len(part) >= _LONG_PART)
    for value in headers.values():
        yield value
        yield from (Secret(part) for part in value.reveal().split() if len(part) >= _LONG_PART)


def _request(endpoint: Endpoint, body: bytes, headers: Mapping[str, str]) -> urllib.request.Request:
    own = {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": f"tidegate/{__version__}",
        DELIVERY_HEADER: str(uuid.uuid4()),
    }
    if endpoint.secret is not None:
        digest = hmac.new(endpoint.secret.reveal().encode(), body, hashlib.sha256).hexdigest()
        own[SIGNATURE_HEADER] = f"sha256={digest}"
    given = {name.lower() for name in headers}
    kept = {name: value for name, value in own.items() if name.lower() not in given or name == SIGNATURE_HEADER}
    return urllib.request.Request(endpoint.url.reveal(), body, {**headers, **kept}, method="POST")


def _within(endpoint: Endpoint, request: urllib.request.Request) -> _Try:
    """One try. A server that sends a byte now and then keeps no time-out of a socket, nor does the look-up of a host:
    the thread that waits for them is left to itself."""
    seconds = endpoint.timeout.total_seconds()
    box: queue.SimpleQueue[_Try] = queue.SimpleQueue()
    threading.Thread(target=lambda: box.put(_once(request, seconds)), name="webhook", daemon=True).start()
    try:
        return box.get(timeout=seconds)
    except queue.Empty:
        return _timed_out(seconds)


def _timed_out(seconds: float) -> _Try:
    told = f"no answer within {format_duration(timedelta(seconds=seconds))}"
    return _Try(Answer(told, FailureKind.TIMEOUT), again=True)


def _once(request: urllib.request.Request, seconds: float) -> _Try:
    try:
        with urllib.request.build_opener(NoRedirect()).open(request, timeout=seconds) as response:
            response.read1(_MOST_BYTES)
            return _Try(Answer(f"HTTP {response.status}"))
    except urllib.error.HTTPError as error:
        with error:
            return _refused(error)
    except (OSError, http.client.HTTPException) as error:
        return _unreachable(error, seconds)
    except Exception as error:
        return _Try(Answer(f"it cannot be sent: {one_line(str(error))}", FailureKind.QUERY_REJECTED))


def _refused(error: urllib.error.HTTPError) -> _Try:
    status = error.code
    try:
        reason = one_line(error.read(_MOST_BYTES).decode("utf-8", "replace"))
    except (OSError, http.client.HTTPException):
        reason = ""
    reason = "" if reason.startswith("<") else reason
    if status < 400:
        told = f"HTTP {status}: the server points elsewhere, and what is sent goes to the configured address only"
        return _Try(Answer(told, FailureKind.CONNECTION_FAILED))
    kind = kind_of_status(status)
    after = seconds_to_wait(error.headers.get("Retry-After")) if kind.is_transient else None
    return _Try(Answer(f"HTTP {status}{f': {reason}' if reason else ''}", kind), kind.is_transient, after)


def _unreachable(error: Exception, seconds: float) -> _Try:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return _timed_out(seconds)
    reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    answer = Answer(f"it cannot be reached: {one_line(str(reason))}", FailureKind.CONNECTION_FAILED)
    return _Try(answer, again=not isinstance(cause, ssl.SSLCertVerificationError))


def _pause(endpoint: Endpoint, number: int) -> float:
    """Twice as long each time, and not the same for all who failed at the same moment."""
    longest = min(_LONGEST_PAUSE, endpoint.retry_delay.total_seconds() * float(1 << min(number - 1, 20)))
    return longest * random.uniform(0.5, 1)
