"""Missing files: which table and snapshot lack one, and how to repair it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from tidegate.compiler.compiled import Compiled, CompiledModel
from tidegate.errors import FailureKind, LakeError, LandingError, SourceError, TidegateError
from tidegate.lake.branch_catalog import Heads, PointerKind
from tidegate.lake.metadata import read_metadata
from tidegate.names import TableName
from tidegate.planner.inputs import tables_behind
from tidegate.runs.context import RunContext

__all__ = ["explain_damage", "is_damaged", "missing_file", "missing_file_behind", "tables_read_or_written"]


def explain_damage(error: Exception, run: RunContext, model: CompiledModel) -> Exception:
    """`error`, or the one that names the missing file which it is about."""
    if isinstance(error, LandingError | SourceError):
        return error
    if not (isinstance(error, LakeError) or getattr(error, "kind", None) is FailureKind.NOT_FOUND):
        return error
    try:
        heads = run.lake.heads()
    except TidegateError:
        return error
    return missing_file(heads, tables_read_or_written([model], run.compiled), run.compiled.namespace) or error


def tables_read_or_written(models: Iterable[CompiledModel], compiled: Compiled) -> frozenset[TableName]:
    """What these models write and read, also through views."""
    models = tuple(models)
    read = (name for model in models for name in (*model.depends_on, *model.sources))
    return frozenset({*tables_behind(read, compiled), *(model.model.table for model in models)})


def is_damaged(run: RunContext, table: TableName) -> bool:
    """Checked only for a full refresh: it reads all manifests of the table."""
    return run.options.full_refresh and missing_file(run.lake.heads(), [table], "") is not None


def missing_file_behind(heads: Heads, tables: Iterable[TableName], namespace: str) -> LakeError | None:
    """The missing file of these tables, or of tables behind the views among them; None if all are there.

    What is behind a view is known from what it recorded.
    """
    visited: set[TableName] = set()
    pending = list(tables)
    while pending:
        table = pending.pop()
        if table in visited or table not in heads:
            continue
        visited.add(table)
        if heads[table].kind is PointerKind.VIEW:
            with suppress(LakeError):
                progress = read_metadata(heads[table]).progress
                pending += [TableName.parse(name, "") for name in (progress.tables if progress else ())]
    return missing_file(heads, visited, namespace)


def missing_file(heads: Heads, tables: Iterable[TableName], namespace: str) -> LakeError | None:
    """The first by name; None where no file of these tables is missing."""
    # Only here: it brings PyIceberg, which takes a second to load.
    from tidegate.lake.missing_files import first_damage

    damage = first_damage(heads, tables)
    return None if damage is None else damage.error(namespace)
