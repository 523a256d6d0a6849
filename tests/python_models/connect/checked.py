"""A check of plans without Spark: what it refuses, and what it makes of the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.config import SandboxSection
from tidegate.python_models.connect.granted_views import GrantedViews
from tidegate.python_models.connect.local_rows import LocalRows
from tidegate.python_models.connect.message_values import MessageValues
from tidegate.python_models.connect.plan_check import PlanCheck
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError

__all__ = ["checked", "plan_check", "refusal_of"]

GRANTS = {"ref shop.silver.orders": "view_orders", "landing_zone files": "view_files"}


def plan_check(
    section: SandboxSection | None = None,
    functions: frozenset[str] = frozenset(),
    wanted: Callable[[], None] = lambda: None,
) -> PlanCheck:
    section = section or SandboxSection()
    views = GrantedViews(GRANTS, "shop")
    return PlanCheck(views, MessageValues(views, section, functions, LocalRows(section.local_rows)), wanted)


def checked(message: Any, section: SandboxSection | None = None) -> Any:
    """A copy, as Spark would get it."""
    copy = type(message)()
    copy.CopyFrom(message)
    plan_check(section).check(copy)
    return copy


def refusal_of(message: Any, section: SandboxSection | None = None) -> str:
    """Why it is refused; empty where it is not."""
    try:
        checked(message, section)
    except CallRefusedError as error:
        return error.details if error.code == "PERMISSION_DENIED" else ""
    return ""
