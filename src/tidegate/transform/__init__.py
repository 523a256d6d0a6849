"""A step → a DataFrame."""

from tidegate.transform.frames import Built, QueryInputs, Sources, ZoneBatch, build_frame, explain

__all__ = ["Built", "QueryInputs", "Sources", "ZoneBatch", "build_frame", "explain"]
