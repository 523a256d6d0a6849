"""The words of selectors. Completion reads them with every press of a key, so this imports nothing that takes time."""

from __future__ import annotations

__all__ = ["METHODS", "STATES"]

METHODS = {"tag": "models with a tag", "path": "models in a folder", "state": "modified or new models"}
"""What stands before the colon, and what it selects."""

STATES = ("modified", "new")
