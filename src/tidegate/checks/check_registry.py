"""Every check that comes with Tidegate, by name, and the rule that a declared check becomes for a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from blake3 import blake3

from tidegate.checks.audits import AUDITS
from tidegate.checks.check_kinds import CheckKind, build_rule
from tidegate.checks.check_parameters import ParameterKind
from tidegate.checks.check_values import Check, CheckCall, CheckRule, FunctionRule, RowRule, Stage
from tidegate.checks.constraints import CONSTRAINTS
from tidegate.checks.keyed import KEYED_ONLY
from tidegate.checks.own_checks import read_own_check
from tidegate.checks.warnings import WARNINGS
from tidegate.datatypes import Column, Relation
from tidegate.problems import Severity

__all__ = [
    "BUILT_IN",
    "DIRECTIVES",
    "KEYED",
    "SQL_TYPE",
    "OtherTable",
    "RowConstraint",
    "digest_of",
    "kind_of",
    "other_tables",
    "row_constraints",
    "rule_of",
]


DIRECTIVES: Mapping[str, Stage] = {
    "constraint": Stage.BEFORE_WRITE,
    "audit": Stage.BEFORE_PUBLISH,
    "warning": Stage.AFTER_PUBLISH,
}

BUILT_IN: Mapping[str, CheckKind] = MappingProxyType({kind.name: kind for kind in (*CONSTRAINTS, *AUDITS, *WARNINGS)})
"""Called by position: `name(arguments)`."""

KEYED: Mapping[str, CheckKind] = MappingProxyType({kind.name: kind for kind in (*CONSTRAINTS, *AUDITS, *KEYED_ONLY)})
"""Named by `type` in `[[checks]]`, where some take other arguments than by position."""

SQL_TYPE = "sql"
"""The `type` of a query of the rows that break the rule, under the key of the same name."""


class OtherTable(NamedTuple):
    """`position`: which argument names it. `key`: the column of it that is read, and its position, where one is."""

    position: int
    name: str
    key: tuple[int, str] | None


def kind_of(check: Check) -> CheckKind | None:
    """None for a SQL test, and where there is no check of that name. Raises OwnCheckError."""
    call = check.call
    if call is None:
        return None
    kind = (KEYED if call.keyed else BUILT_IN).get(call.name)
    if kind is None and check.source:
        return read_own_check(call.name, check.source, check.file)
    return kind


def rule_of(check: Check, columns: Sequence[Column] | Relation, namespace: str = "") -> CheckRule:
    """`columns`: those of the table itself. `namespace`: of other tables that are named without one.

    Raises ValueError, with a message for people, where the check does not go with the columns; a SQL test has no form.
    """
    kind = kind_of(check)
    if kind is None or check.call is None:
        raise ValueError(f"there is no check '{check.call.name if check.call else check.name}'")
    table = columns if isinstance(columns, Relation) else Relation(tuple(columns))
    return build_rule(kind, check.call, table, namespace, check.source)


def other_tables(check: Check) -> tuple[OtherTable, ...]:
    """The tables besides its own that a check names in its arguments, as written."""
    kind, call = kind_of(check), check.call
    if kind is None or call is None:
        return ()
    args = call.arguments
    keys = [(at, args[at]) for at, _ in kind.of_kind(ParameterKind.OTHER_COLUMN) if at < len(args)]
    tables = [at for at, _ in kind.of_kind(ParameterKind.TABLE) if at < len(args) and args[at]]
    return tuple(OtherTable(at, args[at], keys[0] if keys else None) for at in tables)


def digest_of(checks: Iterable[Check]) -> str:
    """Changes with whatever decides how a check turns out or whether it counts; not with where it is written."""
    contents = [
        (
            str(check.stage),
            check.name,
            str(check.severity),
            check.source,
            _call_facts(check.call) if check.call else None,
        )
        for check in checks
    ]
    return str(blake3(json.dumps(sorted(contents, key=repr)).encode()).hexdigest(16)) if contents else ""


def _call_facts(call: CheckCall) -> tuple[object, ...]:
    return (call.name, call.arguments, call.keyed, *([call.texts] if call.texts else []))


@dataclass(frozen=True, slots=True)
class RowConstraint:
    check: Check
    rule: RowRule | FunctionRule

    @property
    def reason(self) -> str:
        """Why a row that breaks it is refused, for messages."""
        return f"{self.check.name}: {self.rule.expected}"


def row_constraints(checks: Iterable[Check], columns: Relation, namespace: str = "") -> tuple[RowConstraint, ...]:
    """Those of severity error. One that does not fit the columns is left out: it is evaluated, and reported, later."""
    constraints = []
    for check in checks:
        if check.stage is not Stage.BEFORE_WRITE or check.severity is not Severity.ERROR or check.call is None:
            continue
        try:
            form = rule_of(check, columns, namespace)
        except ValueError:
            continue
        if isinstance(form, RowRule | FunctionRule):
            constraints.append(RowConstraint(check, form))
    return tuple(constraints)
