"""Checks that read a source outside the lake. Those of one that does not answer are reported as not run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from tidegate.checks.check_values import Check, Stage
from tidegate.config import Settings
from tidegate.errors import SourceError
from tidegate.results import CheckResult
from tidegate.sources import mentioned, ping_all

__all__ = ["CheckedSources", "failed_pings", "kind_of_check", "sources_of_check", "unchecked"]


def sources_of_check(names: Collection[str], check: Check) -> frozenset[str]:
    """Those of the named sources that its query reads. A table among arguments is always one of the lake."""
    return mentioned(names, (check.source,))


@dataclass(frozen=True, slots=True)
class CheckedSources:
    """The sources that some checks read: those that answer, and why each of the others does not."""

    answering: frozenset[str] = frozenset()
    failures: Mapping[str, SourceError] = field(default_factory=dict)

    @classmethod
    def asked(cls, settings: Settings, checks: Iterable[Check]) -> CheckedSources:
        names = frozenset(name for check in checks for name in sources_of_check(settings.sources, check))
        failures = failed_pings(settings, names)
        return cls(names - failures.keys(), failures)

    def failure(self, check: Check) -> SourceError | None:
        """Why it cannot be run."""
        silent = sources_of_check(self.failures.keys(), check) if self.failures else ()
        return self.failures[min(silent)] if silent else None


def failed_pings(settings: Settings, names: Collection[str]) -> dict[str, SourceError]:
    """Why each of these sources does not answer; those that do are left out."""
    pings = ping_all(settings, names) if names else ()
    return {failure.source: failure for ping in pings if isinstance(failure := ping.failure, SourceError)}


def kind_of_check(check: Check) -> str:
    """What a person calls it."""
    if check.call is None:
        return "test"
    if check.call.keyed:
        return "check"
    return {Stage.BEFORE_WRITE: "constraint", Stage.BEFORE_PUBLISH: "audit", Stage.AFTER_PUBLISH: "warning"}[
        check.stage
    ]


def unchecked(model: str, check: Check, why: str, remedy: str | None = None) -> CheckResult:
    """The result of a check that could not be run."""
    return CheckResult(
        model,
        check.name,
        str(check.stage),
        str(check.severity),
        "error",
        None,
        "",
        0,
        description=check.description,
        remediation=remedy or check.remediation,
        error=why,
        kind=kind_of_check(check),
    )
