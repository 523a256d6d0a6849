"""Any value that a run or a query gives, as JSON text that every reader accepts."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

__all__ = ["json_text", "json_value"]


def json_text(value: Any, indent: int | None = None) -> str:
    """A lone surrogate, as in a file name that is no UTF-8, becomes a question mark."""
    text = json.dumps(json_value(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace").decode()


def json_value(value: Any) -> Any:
    """Times become ISO 8601; decimals, NaN and infinities strings (JSON has none); bytes base64; the rest `str`."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    return str(value)
