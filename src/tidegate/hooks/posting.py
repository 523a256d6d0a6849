"""Sending webhooks and the callback: signed, within their time limits, with retries."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote

from tidegate.config import Endpoint, Secret, WebHook, format_duration
from tidegate.errors import FailureKind
from tidegate.hooks.events import Ending
from tidegate.hooks.hook_result import HookResult, one_line, redact_and_shorten
from tidegate.hooks.payload import Payload
from tidegate.hooks.presets import preset_document, preset_headers
from tidegate.http_client import HttpClient, HttpRetryPolicy, Reply, Timing
from tidegate.jsontext import json_text
from tidegate.redaction import redacted

__all__ = ["DELIVERY_HEADER", "SIGNATURE_HEADER", "Wait", "body_of", "post", "send_callback", "send_webhook"]

SIGNATURE_HEADER = "X-Tidegate-Signature"
DELIVERY_HEADER = "X-Tidegate-Delivery"

Wait = Callable[[float], bool]
"""Waits so many seconds; True: there is no time for another attempt."""

_LONGEST_PAUSE = 60.0
_MAX_BYTES = 16 * 2**10
_LONG_PART = 8


def post(
    endpoint: Endpoint,
    body: bytes,
    headers: Mapping[str, Secret] | None = None,
    wait: Wait | None = None,
    hidden: Sequence[Secret] = (),
) -> HookResult:
    """Does not raise. All attempts to deliver one document have the same delivery id and signature, so that a receiver
    can ignore one that it has already.

    `hidden`: secrets in the body, which the server might repeat in its response.
    """
    started = time.monotonic()
    headers = {**(headers or {}), **endpoint.headers}
    client = HttpClient(
        endpoint.url.reveal(),
        timeout=endpoint.timeout.total_seconds(),
        timeout_covers_attempt=True,
        max_bytes=_MAX_BYTES,
        status_suffices=True,
        timing=Timing(wait=wait) if wait else None,
    )
    retry = HttpRetryPolicy(
        attempts=endpoint.retries + 1,
        first_pause=endpoint.retry_delay.total_seconds(),
        longest_pause=_LONGEST_PAUSE,
        longest_retry_after=_LONGEST_PAUSE,
    )
    sent = _headers(endpoint, body, {name: value.reveal() for name, value in headers.items()})
    try:
        reply = client.send("POST", "", body, sent, repeatable=True, retry=retry)
    finally:
        client.close()
    message = redact_and_shorten(_message(reply, endpoint.timeout), [*hidden, *_secrets(endpoint, headers)])
    return HookResult(message, reply.kind, reply.attempts, round((time.monotonic() - started) * 1000))


def _secrets(endpoint: Endpoint, headers: Mapping[str, Secret]) -> Iterator[Secret]:
    """Whole and in parts: a server may repeat the token without the word before it, or one step of the path."""
    if endpoint.secret is not None:
        yield endpoint.secret
    yield endpoint.url
    yield from (Secret(part) for part in re.split(r"[/?&=#]", endpoint.url.reveal())[3:] if len(part) >= _LONG_PART)
    for value in headers.values():
        yield value
        yield from (Secret(part) for part in value.reveal().split() if len(part) >= _LONG_PART)


def _headers(endpoint: Endpoint, body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
    """Those of the hook take precedence over the default ones, but not over the signature."""
    defaults = {"Content-Type": "application/json; charset=utf-8", DELIVERY_HEADER: str(uuid.uuid4())}
    names = {name.lower() for name in headers}
    signature = {}
    if endpoint.secret is not None:
        digest = hmac.new(endpoint.secret.reveal().encode(), body, hashlib.sha256).hexdigest()
        signature[SIGNATURE_HEADER] = f"sha256={digest}"
    return {**headers, **{name: value for name, value in defaults.items() if name.lower() not in names}, **signature}


def _message(reply: Reply, timeout: timedelta) -> str:
    if reply.status is None:
        if reply.kind is FailureKind.TIMEOUT:
            return f"no response within {format_duration(timeout)}"
        if reply.kind is FailureKind.QUERY_REJECTED:
            return f"it cannot be sent: {one_line(reply.reason)}"
        return f"it cannot be reached: {one_line(reply.reason)}"
    if reply.kind is None:
        return f"HTTP {reply.status}"
    if reply.status < 400:
        return f"HTTP {reply.status}: the server redirects to another address, which is not followed"
    reason = one_line(reply.body.decode("utf-8", "replace"))
    return f"HTTP {reply.status}" + (f": {reason}" if reason and not reason.startswith("<") else "")


def send_webhook(hook: WebHook, payload: Payload, wait: Wait) -> HookResult:
    try:
        body = body_of(hook, payload)
    except ValueError as error:
        return HookResult(str(error), FailureKind.QUERY_REJECTED)
    return post(hook.endpoint, body, preset_headers(hook), wait, hidden=[hook.key] if hook.key else ())


def body_of(hook: WebHook, payload: Payload) -> bytes:
    """Raises ValueError where the hook's own template does not give what its headers promise."""
    if hook.body is None:
        return json_text(preset_document(hook, payload)).encode()
    from tidegate.config.body_template import render_body

    text = render_body(hook.body, payload)
    kind = next((v.reveal() for name, v in hook.endpoint.headers.items() if name.lower() == "content-type"), "json")
    if "json" in kind.lower():
        try:
            json.loads(text)
        except ValueError as error:
            raise ValueError(f"its body is not JSON: {error}") from None
    return text.encode()


def send_callback(endpoint: Endpoint, ending: Ending) -> HookResult:
    body = {
        "status": ending.status,
        "rows_written": ending.rows_written,
        "duration_ms": ending.duration_ms,
        "phase_profiles": ending.phase_profiles,
        "run_id": ending.run_id,
        "error": redacted(ending.error),
    }
    url = endpoint.url.reveal().replace("{run_id}", quote(ending.run_id, safe=""))
    return post(replace(endpoint, url=Secret(url)), json_text(body).encode())
