"""Models that unit tests cannot run, because a source does not answer that says which types their inputs have."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.compiler.outside import Outside
from tidegate.compiler.values import Compiled
from tidegate.errors import SourceError
from tidegate.names import TableName

__all__ = ["untyped_models"]


def untyped_models(compiled: Compiled, outside: Outside) -> Mapping[TableName, SourceError]:
    """Each of them, and why: a test would have to guess the types of the rows that it gives.

    They read a source that does not answer, or a table that was never built from one.
    """
    silent = {failure.source: failure for failure in outside.failures}
    found: dict[TableName, SourceError] = {}
    if not silent:
        return found
    for table, model in compiled.models.items():
        names = silent.keys() & {source.namespace for source in model.sources}
        if names:
            found[table] = silent[min(names)]
    for table in (table for wave in compiled.waves for table in wave if table not in found):
        unbuilt = [other for other in compiled.models[table].depends_on if other not in outside.heads]
        failures = [found[other] for other in unbuilt if other in found]
        if failures:
            found[table] = failures[0]
    return found
