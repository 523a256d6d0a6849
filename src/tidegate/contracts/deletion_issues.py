"""What deletions need of a contract: settings that go together, a key, and a source that can say what is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegate.contracts.element import CustomProperty, Element
from tidegate.contracts.issues import Issue
from tidegate.contracts.source_columns import source_column
from tidegate.contracts.stage_contract import StageContract
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["deletion_issues"]

_APPLY, _APPLY_NONE = ("current_state", "history"), ("append", "snapshot")
_COLUMN, _VALUES = "deletion_indicator_column", "deletion_indicator_values"
_OF_BRONZE = "_op"


def deletion_issues(contract: StageContract, silver: Element, columns: list[Element]) -> Iterator[Issue]:
    yield from contract.expect(
        "deletion_enabled", lambda value: isinstance(value, bool), "true or false", "true", silver, required=False
    )
    is_enabled = contract.is_set("deletion_enabled", True, silver)
    yield from contract.expect_choice("deletion_detection", ("explicit", "inferred"), silver, required=is_enabled)
    yield from contract.expect_choice("deletion_mode", ("soft", "hard"), silver, required=is_enabled)
    yield from contract.expect(
        "deletion_max_ratio", _is_ratio, "a number above 0 and up to 1", "0.2", silver, required=False
    )
    detection = contract.lookup("deletion_detection", silver)
    yield from _indicator(contract, silver, columns, detection, is_enabled)
    if not is_enabled:
        return
    has_key = any(column.flag("primaryKey") for column in columns)
    if not has_key:
        yield silver.issue(
            "deletions need a primary key", "set primaryKey: true on the columns of the key", "properties"
        )
    entry = contract.lookup("silver_write_strategy", silver)
    if has_key and entry is not None and entry.value in _APPLY_NONE:
        message = f"silver_write_strategy {entry.value} applies no deletions"
        yield Issue(
            entry.path, message, f"write {' or '.join(_APPLY)}, or remove deletion_enabled: signals are counted"
        )
    if detection is not None and detection.value == "inferred":
        if contract.connector is not None and contract.connector.reads_log:
            yield Issue(detection.path, "a source that reads a log reports its deletes, so they are not inferred")
        elif not contract.is_set("ingestion_read_strategy", "full_snapshot"):
            message = "deletes can be inferred only where every read is complete"
            fix = "set ingestion_read_strategy to full_snapshot, or detection to explicit"
            yield Issue(detection.path, message, fix)


def _indicator(
    contract: StageContract,
    silver: Element,
    columns: list[Element],
    detection: CustomProperty | None,
    is_enabled: bool,
) -> Iterator[Issue]:
    column, values = contract.lookup(_COLUMN, silver), contract.lookup(_VALUES, silver)
    is_inferred = is_enabled and detection is not None and detection.value == "inferred"
    if is_inferred and column is not None:
        message = f"deletes are inferred from what a snapshot lacks, so '{_COLUMN}' would never be read"
        yield Issue(column.path, message, "remove it, or set deletion_detection to explicit")
        return
    reads_log = contract.connector is not None and contract.connector.reads_log
    is_explicit = is_enabled and detection is not None and detection.value == "explicit"
    if not (column or values or (is_explicit and not reads_log)):
        return
    yield from contract.expect_text(_COLUMN, "is_deleted", silver)
    yield from contract.expect(_VALUES, _is_values, "a list of the values that mean deleted", "[true]", silver)
    if column is not None and isinstance(column.value, str):
        yield from _exists(contract, columns, column, column.value.strip())


def _exists(contract: StageContract, columns: list[Element], entry: CustomProperty, name: str) -> Iterator[Issue]:
    """A column of silver goes before one of the source; of a source that lists no columns it may have any."""
    own = [column.column_name for column in columns]
    if name.lower() in (_OF_BRONZE, *(other.lower() for other in own)):
        return
    source = contract.source
    if source is not None and source_column(source, name) is None:
        known = [*own, *(column.column_name for column in source.items("properties"))]
        message = f"'{_COLUMN}' names column '{name}', which neither silver nor the source has"
        yield Issue(entry.path, message, did_you_mean(nearest(name, known, 1)))


def _is_ratio(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1


def _is_values(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str | int | float) for item in value)
