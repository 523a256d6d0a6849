"""The call of one table function, in the sandbox or in Tidegate's own process: its rows as Arrow batches."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

from tidegate.python_models.api_without_inputs import api_without_inputs
from tidegate.python_models.arrow_pieces import frames_of
from tidegate.python_models.code_runner import CodeFailure, line_of, loaded_code
from tidegate.python_models.model_api import CallFacts
from tidegate.python_models.returned_value import is_spark_frame, rows_of
from tidegate.python_models.sandbox.link import FrameKind, Link, LinkFrame
from tidegate.python_models.sandbox.sandbox_job import SandboxJob

if TYPE_CHECKING:
    import pyarrow

__all__ = ["call_function", "call_version", "run_function_job"]

_ROWS = (
    "Return rows as dictionaries or tuples, a pandas DataFrame, a PyArrow Table, or a generator of rows or of"
    " RecordBatches."
)


def run_function_job(job: SandboxJob, link: Link) -> Iterator[LinkFrame]:
    """Values: `name`, `arguments`, `columns`, `facts`, and `version` where that is asked for instead of the rows."""
    values = job.values
    api = api_without_inputs(CallFacts.of(values["facts"]), link.log)
    with loaded_code(job.file, job.source, api, link.log) as module:
        if values.get("version"):
            version = call_version(module.__dict__, values["arguments"])
            yield LinkFrame(FrameKind.RESULT, {"kind": "value", "value": version}, b"")
            return
        rows = call_function(module.__dict__, values["name"], values["arguments"], values["columns"])
        yield from frames_of(rows, None)


def call_function(
    names: Mapping[str, Any], name: str, arguments: Mapping[str, Any], columns: Sequence[str]
) -> pyarrow.RecordBatchReader:
    """`columns`: those that it declares; empty where it declares none. Raises CodeFailure."""
    target = names.get(name)
    if target is None:
        raise CodeFailure(f"the file defines no function `{name}`")
    # The decorator of PySpark keeps the class that it was given.
    target = getattr(target, "func", target) if type(target).__name__ == "UserDefinedTableFunction" else target
    if isinstance(target, type):
        value: Any = _rows_of_class(target, arguments)
        line = line_of(getattr(target, "eval", None))
    else:
        value, line = target(**arguments), line_of(target)
    if is_spark_frame(value):
        raise CodeFailure(f"`{name}` returns a Spark DataFrame, and runs without Spark", line, _ROWS)
    if inspect.iscoroutine(value):
        value.close()
        raise CodeFailure(f"`{name}` is async, and must return rows", line, _ROWS)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return rows_of(value, line, name)
    if not isinstance(value, list | tuple | Iterator) or hasattr(value, "__arrow_c_stream__"):
        return rows_of(value, line, name)
    return _of_iterable(value, name, columns, line)


def call_version(names: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """What `version` says of the data that the function would give now."""
    version = names["version"](**arguments)
    if version is None or isinstance(version, str | int | float | bool):
        return str(version)
    if hasattr(version, "isoformat"):
        return str(version.isoformat())
    raise CodeFailure(f"`version` returns {type(version).__name__}", line_of(names["version"]), "Return a text.")


def _rows_of_class(target: type, arguments: Mapping[str, Any]) -> Iterator[Any]:
    """As PySpark calls it."""
    function: Any = target()
    yield from function.eval(**arguments) or ()
    if hasattr(function, "terminate"):
        yield from function.terminate() or ()


def _of_iterable(
    value: Iterable[Any], name: str, columns: Sequence[str], line: int | None
) -> pyarrow.RecordBatchReader:
    import pyarrow as pa

    items = iter(value)
    first = next(items, None)
    if first is None:
        if not columns:
            fix = f'Declare them: def {name}(…) -> "id bigint, name string".'
            raise CodeFailure(f"`{name}` gives no rows, and its columns are not declared", line, fix)
        return pa.table({column: pa.nulls(0) for column in columns}).to_reader()
    everything = chain([first], items)
    if isinstance(first, pa.RecordBatch):
        return rows_of(pa.Table.from_batches(list(everything)), line, name)
    if isinstance(first, pa.Table):
        return rows_of(pa.concat_tables(list(everything)), line, name)
    if type(first).__module__.startswith("pandas.") and type(first).__name__ == "DataFrame":
        pandas: Any = import_module("pandas")
        return rows_of(pandas.concat(list(everything), ignore_index=True), line, name)
    return rows_of(_table(pa, list(everything), name, columns, line), line, name)


def _table(pa: Any, rows: list[Any], name: str, columns: Sequence[str], line: int | None) -> Any:
    records = [_record(row, name, columns, line) for row in rows]
    names = list(dict.fromkeys([*columns, *(column for record in records for column in record)]))
    arrays = {}
    for column in names:
        try:
            arrays[column] = pa.array([record.get(column) for record in records])
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            message = f"column '{column}' of `{name}` has values of several types: {error}"
            raise CodeFailure(message, line, "Give its values one type.") from error
    return pa.table(arrays)


def _record(row: Any, name: str, columns: Sequence[str], line: int | None) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    # A Row of PySpark, or a named tuple.
    if (as_dict := getattr(row, "asDict", None) or getattr(row, "_asdict", None)) is not None:
        return dict(as_dict())
    if not isinstance(row, tuple | list):
        row = (row,) if len(columns) == 1 else row
    if not isinstance(row, tuple | list):
        raise CodeFailure(f"`{name}` gives a row that is {type(row).__name__}", line, _ROWS)
    if not columns:
        fix = f'Give dictionaries, or declare the columns: def {name}(…) -> "id bigint, name string".'
        raise CodeFailure(f"`{name}` gives tuples, and their columns are not declared", line, fix)
    if len(row) != len(columns):
        message = f"`{name}` gives a row of {len(row)} values, and declares {len(columns)} columns"
        raise CodeFailure(message, line, "Give one value for each column.")
    return dict(zip(columns, row, strict=True))
