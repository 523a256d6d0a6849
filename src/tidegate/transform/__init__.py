"""A step → a DataFrame."""

from tidegate.transform.frames import Built, Sources, ZoneBatch, build_frame, explain

__all__ = ["Built", "Sources", "ZoneBatch", "build_frame", "explain"]
