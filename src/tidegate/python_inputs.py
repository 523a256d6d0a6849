"""How the code of a Python model names what it reads, in its file and across the wall of the sandbox."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["TG_NAMES", "ReadKind", "handle_of"]


class ReadKind(StrEnum):
    """The function of `tg` that reads it."""

    REF = "ref"
    CHANGES = "changes"
    LANDING_ZONE = "landing_zone"
    THIS = "this"


TG_NAMES = frozenset(
    {*map(str, ReadKind), "sql", "model", "var", "log"}
    | {"watermark_value", "run_started_at", "start_date", "end_date", "is_incremental", "is_scd2"}
)
"""All that the code of a model may use of `tg`."""


def handle_of(kind: ReadKind, name: str = "", namespace: str = "") -> str:
    """The one name of an input, however the code writes it: `ref shop.silver.orders` for `tg.ref("Silver.Orders")`."""
    if kind is ReadKind.THIS:
        return str(kind)
    if kind is ReadKind.LANDING_ZONE:
        return f"{kind} {name}"
    parts = [part.strip().strip("`").lower() for part in name.split(".")]
    full = parts if len(parts) > 2 or not namespace else [namespace.lower(), *parts]
    return f"{kind} {'.'.join(full)}"
