"""The words of selectors. Shell completion imports this on every key press, so it imports nothing slow."""

from __future__ import annotations

__all__ = ["METHODS", "STATES"]

METHODS = {"tag": "models with a tag", "path": "models in a folder", "state": "modified or new models"}
"""The word before the colon, and what it selects."""

STATES = ("modified", "new")
