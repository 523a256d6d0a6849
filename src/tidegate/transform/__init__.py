"""A step → a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.transform.frames import Built, QueryInputs, Sources, ZoneBatch, build_frame, explain

__all__ = ["Built", "QueryInputs", "Sources", "ZoneBatch", "build_frame", "explain"]


def __getattr__(name: str) -> Any:
    """Only when it is asked for: Spark's tasks that read records need nothing of it."""
    if name not in __all__:
        raise AttributeError(f"module 'tidegate.transform' has no attribute '{name}'")
    from tidegate.transform import frames

    return getattr(frames, name)
