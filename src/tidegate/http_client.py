"""The HTTP client for every server that Tidegate calls: catalogs, sources, webhooks and the callback.

A request goes to the configured address only: redirects are not followed, so no credential leaves for another server.
Addresses are not logged, because that of a webhook is a secret.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tidegate import __version__
from tidegate.errors import FailureKind
from tidegate.failures import kind_of_status, pause_before, seconds_to_wait

if TYPE_CHECKING:
    import httpx

__all__ = ["HttpClient", "HttpRetryPolicy", "Reply", "Timing"]

_KEEPALIVE_SECONDS = 5.0
"""A connection that was idle for longer may be closed already, and a request on it is lost or not, which is unknown."""

_SHORTEST_TIMEOUT = 0.1


@dataclass(frozen=True, slots=True)
class HttpRetryPolicy:
    """When a request is attempted again, and after which pause.

    One that may be repeated is attempted again after whatever may pass: a lost connection, a time-out, a busy or
    failing server. One that changes something is attempted again only where the server refused it for the moment and
    says for how long: in all other cases it may have been carried out.
    """

    attempts: int = 3

    first_pause: float = 0.25
    """Seconds. The pause doubles with each attempt, up to `longest_pause`."""

    longest_pause: float = 1.0

    longest_retry_after: float = 5.0
    """Where the server asks for a longer pause, the request fails at once."""

    when_unreachable: bool = True
    """Whether to try again where the server refused the connection or its host is unknown."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How time passes; tests pass their own."""

    now: Callable[[], float] = time.monotonic

    wait: Callable[[float], bool | None] = time.sleep
    """Waits so many seconds. True: there is no time for another attempt."""

    wall: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a request after its last attempt."""

    kind: FailureKind | None = None
    """None where the server accepted the request (HTTP 2xx)."""

    status: int | None = None
    """None where no response came."""

    body: bytes = b""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the response, with names in lower case."""

    reason: str = ""
    """Why no response came."""

    sent: bool = True
    """False where no connection could be made, so the server has not received the request."""

    broken: bool = False
    """The server ended the connection, in whichever state it was."""

    untrusted: bool = False
    """The certificate of the server was not accepted."""

    may_pass: bool = False
    """Another attempt may succeed."""

    retry_after: float | None = None
    """Seconds that the server asks to wait."""

    attempts: int = 1

    pause: float | None = None
    """The pause before another attempt, where there was no time left for it."""

    @property
    def was_put_off(self) -> bool:
        """The server has not carried out the request, and names the time to send it again."""
        return self.status in (429, 503) and self.retry_after is not None


class HttpClient:
    """Requests to one server. Threads may share a client; its connections are reused."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        timeout: float = 20.0,
        timeout_covers_attempt: bool = False,
        time_limit: float | None = None,
        max_bytes: int | None = None,
        status_suffices: bool = False,
        proxies: bool = True,
        timing: Timing | None = None,
    ) -> None:
        """`timeout`: seconds that each wait for the server may take, or an attempt as a whole, with the look-up of the
        host, where `timeout_covers_attempt`. `time_limit`: seconds from now on for all requests together. `max_bytes`:
        where a response is cut off. `status_suffices`: the body of a 2xx response is not read, so that nothing in it
        can turn it into a failure. `proxies`: whether HTTP_PROXY, HTTPS_PROXY and NO_PROXY are honoured."""
        self.url = url
        self._headers = {"User-Agent": f"tidegate/{__version__}", "Accept-Encoding": "identity", **(headers or {})}
        self._timeout = timeout
        self._timeout_covers_attempt = timeout_covers_attempt
        self._max_bytes = max_bytes
        self._status_suffices = status_suffices
        self._proxies = proxies
        self._timing = timing or Timing()
        self._deadline = None if time_limit is None else self._timing.now() + time_limit
        self._lock = threading.Lock()
        self._opened: httpx.HTTPTransport | None = None

    def send(
        self,
        method: str,
        path: str = "",
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        repeatable: bool,
        retry: HttpRetryPolicy | None = None,
    ) -> Reply:
        """Does not raise. `repeatable`: carrying it out twice does no harm."""
        retry = retry or HttpRetryPolicy()
        number = 0
        while True:
            number += 1
            reply = replace(self._attempt(method, self.url + path, content, headers or {}), attempts=number)
            again = _may_repeat(reply, retry) if repeatable else reply.was_put_off
            if not again or number == retry.attempts:
                return reply
            pause = reply.retry_after
            if pause is None:
                pause = pause_before(number, retry.first_pause, retry.longest_pause)
            elif pause > retry.longest_retry_after:
                return reply
            left = self._seconds_left()
            if left is not None and pause >= left:
                return replace(reply, pause=pause if left > 0 else None)
            if self._timing.wait(pause):
                return reply

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _attempt(self, method: str, url: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        if not self._timeout_covers_attempt:
            return self._exchange(method, url, content, headers)
        # The time-out of a socket bounds neither the look-up of a host nor a server that sends a byte now and then: the
        # thread that waits for them is abandoned.
        replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        target = lambda: replies.put(self._exchange(method, url, content, headers))  # noqa: E731
        threading.Thread(target=target, name="http", daemon=True).start()
        try:
            return replies.get(timeout=self._timeout)
        except queue.Empty:
            return _timed_out()

    def _exchange(self, method: str, url: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        import httpx

        try:
            merged = _header_values(self._headers)
            merged.update(_header_values(headers))
            timeout = httpx.Timeout(self._seconds_for_attempt()).as_dict()
            request = httpx.Request(method, url, headers=merged, content=content, extensions={"timeout": timeout})
            transport = self._transport()
        except Exception as error:
            return _impossible(error)
        try:
            response = transport.handle_request(request)
            try:
                return self._reply(response)
            finally:
                response.close()
        except httpx.TimeoutException as error:
            return _timed_out(sent=not isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout))
        except httpx.LocalProtocolError:
            return _impossible("a header has a value that HTTP cannot carry")  # the error itself shows the value
        except httpx.UnsupportedProtocol as error:
            return _impossible(error)
        except Exception as error:
            return _unreachable(error, sent=not isinstance(error, httpx.ConnectError | httpx.ProxyError))

    def _transport(self) -> httpx.HTTPTransport:
        """A client of httpx is not used: it logs addresses, keeps cookies and takes credentials out of addresses."""
        import ssl

        import httpx

        with self._lock:
            if self._opened is None:
                secure = urlsplit(self.url).scheme == "https"
                self._opened = httpx.HTTPTransport(
                    verify=ssl.create_default_context() if secure else False,
                    trust_env=False,
                    limits=httpx.Limits(keepalive_expiry=_KEEPALIVE_SECONDS),
                    proxy=_proxy_for(self.url) if self._proxies else None,
                )
            return self._opened

    def _reply(self, response: httpx.Response) -> Reply:
        import httpx

        status = response.status_code
        headers = {name.lower(): value for name, value in response.headers.items()}
        if status < 300 and self._status_suffices:
            return Reply(status=status, headers=headers)
        if status < 300:
            body = b"".join(self._chunks(response))
            return _timed_out() if self._is_late() else Reply(status=status, body=body, headers=headers)
        try:
            body = b"".join(self._chunks(response))
        except httpx.TransportError:
            body = b""  # the status counts even where the explanation breaks off
        kind = kind_of_status(status)
        may_pass = status >= 400 and kind.is_transient
        after = seconds_to_wait(response.headers.get("Retry-After"), self._timing.wall()) if may_pass else None
        return Reply(kind, status, body, headers, may_pass=may_pass, retry_after=after)

    def _chunks(self, response: httpx.Response) -> Iterator[bytes]:
        size = 0
        for chunk in response.iter_raw():  # no encoding is accepted, so there is nothing to decode
            size += len(chunk)
            if self._max_bytes is not None and size >= self._max_bytes:
                yield chunk[: len(chunk) - (size - self._max_bytes)]
                return
            yield chunk
            if self._is_late():
                return

    def _seconds_for_attempt(self) -> float:
        left = self._seconds_left()
        return self._timeout if left is None else max(_SHORTEST_TIMEOUT, min(left, self._timeout))

    def _seconds_left(self) -> float | None:
        return None if self._deadline is None else self._deadline - self._timing.now()

    def _is_late(self) -> bool:
        left = self._seconds_left()
        return left is not None and left <= 0


def _may_repeat(reply: Reply, retry: HttpRetryPolicy) -> bool:
    begun = reply.sent or reply.broken or reply.kind is FailureKind.TIMEOUT
    return reply.may_pass and (begun or retry.when_unreachable)


def _timed_out(sent: bool = True) -> Reply:
    return Reply(FailureKind.TIMEOUT, reason="timed out", sent=sent, may_pass=True)


def _header_values(headers: Mapping[str, str]) -> httpx.Headers:
    """Without the blanks around a value, which HTTP does not carry; in Latin-1, where httpx would take ASCII alone."""
    import httpx

    return httpx.Headers({name: value.strip(" \t") for name, value in headers.items()}, encoding="latin-1")


def _impossible(error: Exception | str) -> Reply:
    """An address, a header or a proxy that HTTP cannot carry."""
    return Reply(FailureKind.QUERY_REJECTED, reason=str(error), sent=False)


def _unreachable(error: Exception, sent: bool) -> Reply:
    import ssl

    chain = list(_chain(error))
    cause = next((each for each in chain if isinstance(each, OSError)), error)
    reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    untrusted = any(isinstance(each, ssl.SSLError) for each in chain)
    return Reply(
        FailureKind.CONNECTION_FAILED,
        reason=reason,
        sent=sent,
        broken=any(isinstance(each, ConnectionResetError | BrokenPipeError) for each in chain),
        untrusted=untrusted,
        may_pass=not any(isinstance(each, ssl.SSLCertVerificationError) for each in chain),
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those that led to it. The connection pool of httpx leaves them as the context alone."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _proxy_for(url: str) -> httpx.Proxy | None:
    """As the environment names it, by the rules of Python's own library."""
    from urllib.request import getproxies, proxy_bypass

    import httpx

    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme)
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return httpx.Proxy(proxy if "://" in proxy else f"http://{proxy}")
