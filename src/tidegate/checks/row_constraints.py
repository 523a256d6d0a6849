"""Constraints that each row keeps or breaks by itself. With `@quarantine: true` rows that break one are put aside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.checks.forms import form_of
from tidegate.checks.values import Check, FunctionRule, RowRule, Stage
from tidegate.datatypes import Relation
from tidegate.problems import Severity

__all__ = ["RowConstraint", "row_constraints"]


@dataclass(frozen=True, slots=True)
class RowConstraint:
    check: Check
    rule: RowRule | FunctionRule

    @property
    def reason(self) -> str:
        """What a person is told of a row that breaks it."""
        return f"{self.check.name}: {self.rule.expected}"


def row_constraints(checks: Iterable[Check], columns: Relation, namespace: str = "") -> tuple[RowConstraint, ...]:
    """Those of severity error. One that does not go with the columns is left out: it is answered, and told, later."""
    found = []
    for check in checks:
        if check.stage is not Stage.BEFORE_WRITE or check.severity is not Severity.ERROR or check.call is None:
            continue
        try:
            form = form_of(check, columns, namespace)
        except ValueError:
            continue
        if isinstance(form, RowRule | FunctionRule):
            found.append(RowConstraint(check, form))
    return tuple(found)
