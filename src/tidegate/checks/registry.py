"""Every check that comes with Tidegate, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidegate.checks.audits import AUDITS
from tidegate.checks.constraints import CONSTRAINTS
from tidegate.checks.keyed import KEYED_ONLY
from tidegate.checks.kinds import CheckKind
from tidegate.checks.values import Stage
from tidegate.checks.warnings import WARNINGS

__all__ = ["BUILT_IN", "DIRECTIVES", "KEYED", "SQL_TYPE"]

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
