"""A declared check → what is asked of a table with given columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from blake3 import blake3

from tidegate.checks.kinds import CheckKind, form
from tidegate.checks.own import read_own_check
from tidegate.checks.parameters import ParameterKind
from tidegate.checks.registry import BUILT_IN, KEYED
from tidegate.checks.values import Call, Check, Form
from tidegate.datatypes import Column, Relation

__all__ = ["OtherTable", "digest_of", "form_of", "kind_of", "other_tables"]


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
    known = (KEYED if call.keyed else BUILT_IN).get(call.name)
    if known is None and check.source:
        return read_own_check(call.name, check.source, check.file)
    return known


def form_of(check: Check, columns: Sequence[Column] | Relation, namespace: str = "") -> Form:
    """`columns`: those of the table itself. `namespace`: of other tables that are named without one.

    Raises ValueError, with a message for people, where the check does not go with the columns; a SQL test has no form.
    """
    kind = kind_of(check)
    if kind is None or check.call is None:
        raise ValueError(f"there is no check '{check.call.name if check.call else check.name}'")
    table = columns if isinstance(columns, Relation) else Relation(tuple(columns))
    return form(kind, check.call, table, namespace, check.source)


def other_tables(check: Check) -> tuple[OtherTable, ...]:
    """The tables besides its own that a check names in its arguments, as written."""
    kind, call = kind_of(check), check.call
    if kind is None or call is None:
        return ()
    given = call.arguments
    keys = [(at, given[at]) for at, _ in kind.of_kind(ParameterKind.OTHER_COLUMN) if at < len(given)]
    tables = [at for at, _ in kind.of_kind(ParameterKind.TABLE) if at < len(given) and given[at]]
    return tuple(OtherTable(at, given[at], keys[0] if keys else None) for at in tables)


def digest_of(checks: Iterable[Check]) -> str:
    """Changes with whatever decides how a check turns out or whether it counts; not with where it is written."""
    said = [
        (
            str(check.stage),
            check.name,
            str(check.severity),
            check.source,
            _asked(check.call) if check.call else None,
        )
        for check in checks
    ]
    return str(blake3(json.dumps(sorted(said, key=repr)).encode()).hexdigest(16)) if said else ""


def _asked(call: Call) -> tuple[object, ...]:
    return (call.name, call.arguments, call.keyed, *([call.texts] if call.texts else []))
