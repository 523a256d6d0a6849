"""Tidegate: build a lakehouse on a branch, check it, publish every table in one step.

For scripts and notebooks: `Project(path)` compiles, plans, runs and queries a project; `read(name)` gives the rows of
one published table. `tg` is for the code of Python models, while they run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.api import Project, read
    from tidegate.python_models.current_model import tg

__version__ = "0.1.0"
__all__ = ["Project", "__version__", "read", "tg"]


def __getattr__(name: str) -> Any:
    """Only when it is asked for: the program itself starts with far less."""
    if name == "tg":
        from tidegate.python_models.current_model import tg

        return tg
    if name not in ("Project", "read"):
        raise AttributeError(f"module 'tidegate' has no attribute '{name}'")
    from tidegate import api

    return getattr(api, name)
