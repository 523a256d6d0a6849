"""Rows of bronze → the rows of silver, by the stages of a contract."""

from tidegate.transform.silver.mark_rows import mark_rows
from tidegate.transform.silver.silver_frame import DELETED, FAILURES, META, QUALITY, STAGE, STAGES, TEXTS
from tidegate.transform.silver.validated_rows import StageCounts, ValidatedRows, validated

__all__ = [
    "DELETED",
    "FAILURES",
    "META",
    "QUALITY",
    "STAGE",
    "STAGES",
    "TEXTS",
    "StageCounts",
    "ValidatedRows",
    "mark_rows",
    "validated",
]
