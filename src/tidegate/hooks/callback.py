"""Telling the one who ordered a run how it ended."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from tidegate.config import Endpoint, Secret
from tidegate.hooks.answer import Answer
from tidegate.hooks.events import Ending
from tidegate.hooks.posting import post
from tidegate.jsontext import json_text
from tidegate.redaction import redacted

__all__ = ["send_callback"]


def send_callback(endpoint: Endpoint, ending: Ending) -> Answer:
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
