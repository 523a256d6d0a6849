"""Which constraints keep single rows out of a table."""

from __future__ import annotations

from tidegate.checks.check_registry import row_constraints
from tidegate.datatypes import INT, NOTHING_KNOWN, STRING, Column, Relation
from tidegate.problems import Place
from tidegate.project.declared_checks import declared_checks
from tidegate.project.settings_files import SourceNode

COLUMNS = Relation((Column("id", INT), Column("email", STRING)))
DECLARED = (
    ("constraint", "not_null(id)"),
    ("constraint", "email(email) warn"),
    ("constraint", "unique(id)"),
    ("constraint", "null_percent(email, 5%)"),
    ("constraint", "references(id, silver.other, id)"),
    ("constraint", "check('long enough', 'length(email) > 3')"),
    ("constraint", "compare(gone, >, 0)"),
    ("audit", "row_count(>, 0)"),
    ("warning", "not_null(email)"),
)


def reasons(columns: Relation) -> list[str]:
    place = Place("models/silver/m.sql")
    checks = [c for key, text in DECLARED for c in declared_checks(key, SourceNode(text, place, text), {}).checks]
    return [constraint.reason for constraint in row_constraints(checks, columns)]


def test_they_are_about_single_rows_and_of_severity_error() -> None:
    assert reasons(COLUMNS) == ["not_null(id): no NULL in id", "long enough: length(email) > 3"]


def test_of_columns_that_are_not_known_they_are_taken_to_be_there() -> None:
    assert reasons(NOTHING_KNOWN) == [
        "not_null(id): no NULL in id",
        "long enough: length(email) > 3",
        "compare(gone, >, 0): gone > 0",
    ]
