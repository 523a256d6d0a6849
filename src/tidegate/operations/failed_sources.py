"""Steps of a plan that cannot be planned: what is in the way of each, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.compiler.values import Compiled, CompiledModel
from tidegate.errors import SourceError, TidegateError
from tidegate.planner.plan import Plan, Step

if TYPE_CHECKING:
    from tidegate.config import Settings

__all__ = ["FailedSources"]


@dataclass(frozen=True)
class FailedSources:
    """The sources that do not answer, and of which nothing was known before."""

    settings: Settings
    failures: Mapping[str, SourceError]

    def obstacle(self, model: CompiledModel, builds: bool) -> str | None:
        failure = self._failure(model, builds)
        return None if failure is None else str(failure)

    def error(self, step: Step, compiled: Compiled) -> TidegateError | None:
        """What is in the way of the step itself; None where that is only a step before it, or nothing."""
        if not step.unplannable or step.unreadable is not None:
            return step.unreadable
        return self._failure(compiled.models[step.table])

    def reason(self, step: Step, compiled: Compiled) -> str:
        """With what to do, for a document that has no other place for it."""
        error, reason = self.error(step, compiled), step.decision.reason
        return f"{reason}; fix: {error.remedy}" if error is not None and error.remedy else reason

    def lines(self, planned: Plan, compiled: Compiled) -> Iterator[str]:
        """Which models could not be planned, why, and what to do: those that read the same source together."""
        readers: dict[str, list[str]] = {}
        for step in planned.steps:
            error, name = self.error(step, compiled), step.table.short(compiled.namespace)
            if isinstance(error, SourceError):
                readers.setdefault(error.source, []).append(name)
            elif error is not None:
                yield from _lines([name], error)
        for source, names in sorted(readers.items()):
            yield from _lines(names, self.failures[source])

    def _failure(self, model: CompiledModel, builds: bool = True) -> SourceError | None:
        if not self.failures:
            return None
        from tidegate.runs.unreadable import sources_of  # only here: a plan without such sources need not load it

        read = sources_of(self.settings, model, builds) & self.failures.keys()
        return self.failures[min(read)] if read else None


def _lines(names: Sequence[str], error: TidegateError) -> Iterator[str]:
    yield f"Not planned: {', '.join(names)}, because {error}"
    if error.remedy:
        yield f"  fix: {error.remedy}"
