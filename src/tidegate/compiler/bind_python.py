"""A compiled Python model and one run's values → what its code is called with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidegate.compiler.bind import bind_reference
from tidegate.compiler.compiled import BoundQuery, Compiled, CompiledModel, LandingRead, RunValues, TableRead
from tidegate.compiler.python_call import PythonCall, PythonInput
from tidegate.names import TableName, quote
from tidegate.python_inputs import ReadKind, handle_of

__all__ = ["bind_python"]

_BEFORE = "SELECT * FROM "


def bind_python(compiled: Compiled, table: TableName, values: RunValues) -> PythonCall:
    model = compiled.models[table]
    return PythonCall(
        table=table,
        file=model.model.file,
        source=model.model.source,
        inputs=tuple(_inputs(compiled, model, values)),
        values=replace(values, vars={**compiled.settings.vars, **values.vars}),
        strategy=str(model.model.settings.strategy),
    )


def _inputs(compiled: Compiled, model: CompiledModel, values: RunValues) -> Iterator[PythonInput]:
    assert model.code is not None
    own = model.model.table
    for kind, tables in ((ReadKind.REF, model.code.refs), (ReadKind.CHANGES, model.code.changes)):
        for table in tables:
            query = bind_reference(compiled, own, table, values)
            yield PythonInput(handle_of(kind, str(table)), kind, query, table)
    for landing in model.code.landings:
        handle = handle_of(ReadKind.LANDING_ZONE, landing.zone)
        yield PythonInput(handle, ReadKind.LANDING_ZONE, _whole(f"`landing`.{quote(landing.zone)}", landing=landing))
    if model.code.this:
        yield PythonInput(handle_of(ReadKind.THIS), ReadKind.THIS, _whole(own.quoted, own), own)


def _whole(name: str, table: TableName | None = None, landing: LandingRead | None = None) -> BoundQuery:
    read = TableRead(len(_BEFORE), len(_BEFORE) + len(name), None, True, table=table, landing=landing)
    return BoundQuery(f"{_BEFORE}{name}", (read,))
