"""A payload as the body of a webhook, posted."""

from __future__ import annotations

import json

from tidegate.config import WebHook
from tidegate.errors import FailureKind
from tidegate.hooks.answer import Answer
from tidegate.hooks.payload import Payload
from tidegate.hooks.posting import Wait, post
from tidegate.hooks.presets import preset_document, preset_headers
from tidegate.jsontext import json_text

__all__ = ["body_of", "send_webhook"]


def send_webhook(hook: WebHook, payload: Payload, wait: Wait) -> Answer:
    try:
        body = body_of(hook, payload)
    except ValueError as error:
        return Answer(str(error), FailureKind.QUERY_REJECTED)
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
