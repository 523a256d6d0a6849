"""The result of a Python model over the rows that a unit test gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidegate.compiler.bind_python import bind_python
from tidegate.compiler.compiled import Compiled, RunValues
from tidegate.compiler.python_call import PythonInput
from tidegate.names import TableName, quote
from tidegate.operations.unit_tests.given_rows import Input, InputViews, input_of
from tidegate.project.unit_test_files import DeclaredRows
from tidegate.python_inputs import ReadKind
from tidegate.python_models.model_result import ModelCall, ModelFrame, called_model
from tidegate.python_models.run_sandbox import RunSandbox
from tidegate.transform.labelled_changes import CHANGE_TYPE, labelled_inserts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["code_result"]


@contextmanager
def code_result(
    compiled: Compiled,
    table: TableName,
    values: RunValues,
    inputs: InputViews,
    declared: Mapping[Input, DeclaredRows],
    sandbox: RunSandbox,
) -> Iterator[ModelFrame]:
    """What the code prints is left out. `declared`: the rows of inputs; those of others are none."""
    call = bind_python(compiled, table, values)
    frames = {
        one.handle: _frame(one, inputs, declared)
        for one in call.inputs
        if one.kind is not ReadKind.THIS or table in declared
    }
    with called_model(
        ModelCall(call, inputs.session, frames, compiled.settings, sandbox, log=lambda line: None)
    ) as result:
        yield result


def _frame(one: PythonInput, inputs: InputViews, declared: Mapping[Input, DeclaredRows]) -> DataFrame:
    views = inputs.make(one.query, declared)
    frame = inputs.session.sql(one.query.substitute(lambda read: quote(views[input_of(read)])))
    if one.kind is not ReadKind.CHANGES or one.table is None or CHANGE_TYPE in frame.columns:
        return frame
    return labelled_inserts(frame, one.table)
