"""Names that a namespace, layer or table may not have."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["is_plain_name", "why_not_a_name"]

_PLAIN = re.compile(r"\w[\w-]*")


def is_plain_name(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None


@lru_cache(maxsize=256)
def why_not_a_name(name: str) -> str | None:
    """Why `name` cannot be a namespace or a layer; None where it can."""
    if not is_plain_name(name):
        return "it may hold letters, digits, '_' and '-' only, and must not begin with '-'"
    if name.lower() in {"main", "spark_catalog"} or name.lower().startswith("run_"):
        return "in a query it would be taken for a catalog ('main', 'spark_catalog' and 'run_…' are)"
    return None
