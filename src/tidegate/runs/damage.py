"""A table that cannot be read because a file of it is gone: which table and snapshot, and the way back."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from tidegate.compiler.values import CompiledModel
from tidegate.errors import FailureKind, LakeError, LandingError, SourceError, TidegateError
from tidegate.lake.metadata import read_metadata
from tidegate.lake.port import Heads, PointerKind
from tidegate.names import TableName
from tidegate.planner.inputs import tables_behind
from tidegate.runs.context import RunContext

__all__ = ["explain_damage", "is_damaged", "missing_file", "missing_file_behind"]


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
    tables = [*tables_behind([*model.depends_on, *model.sources], run.compiled), model.model.table]
    return missing_file(heads, tables, run.compiled.namespace) or error


def is_damaged(run: RunContext, table: TableName) -> bool:
    """Looked for only where a full refresh was asked for: it reads all manifests of the table."""
    return run.options.full_refresh and missing_file(run.lake.heads(), [table], "") is not None


def missing_file_behind(heads: Heads, tables: Iterable[TableName], namespace: str) -> LakeError | None:
    """The same, also of the tables that the views among these read, by what each view recorded."""
    found: dict[TableName, None] = {}
    pending = list(tables)
    while pending:
        table = pending.pop()
        if table in found or table not in heads:
            continue
        found[table] = None
        if heads[table].kind is PointerKind.VIEW:
            with suppress(LakeError):
                progress = read_metadata(heads[table]).progress
                pending += [TableName.parse(name, "") for name in (progress.tables if progress else ())]
    return missing_file(heads, sorted(found), namespace)


def missing_file(heads: Heads, tables: Iterable[TableName], namespace: str) -> LakeError | None:
    """None where the files of these tables are all there."""
    # Only here: it brings PyIceberg, which takes a second to load.
    from tidegate.lake.missing_files import first_damage

    damage = first_damage(heads, tables)
    return None if damage is None else damage.error(namespace)
