"""`@freshness` of a model → the check that answers it."""

from __future__ import annotations

from tidegate.checks.parsing import call_text
from tidegate.checks.values import Call, Check, Stage
from tidegate.problems import Place, Problem, Severity
from tidegate.project.model import Materialized, ModelSettings

__all__ = ["freshness_check"]


def freshness_check(settings: ModelSettings, place: Place) -> Check | Problem | None:
    """None where nothing is asked, or there is no table to ask; a problem where no column is known to ask."""
    asked = settings.freshness
    if asked is None or settings.materialized is Materialized.EPHEMERAL:
        return None
    column = asked.column or settings.watermark_column or settings.time_column
    if column is None:
        return Problem(
            "FreshnessColumn",
            f"freshness {asked.age} is not checked: it names no column, and the model has no watermark_column or"
            " time_column",
            place,
            Severity.WARN,
            f"name the column that says how old a row is: @freshness: updated_at {asked.age}",
        )
    call = Call("freshness", (column, asked.age))
    stage, severity = (Stage.BEFORE_PUBLISH, Severity.ERROR) if asked.audit else (Stage.AFTER_PUBLISH, Severity.WARN)
    return Check(call_text(call), stage, place, call, severity)
