"""What a model may return: a Spark DataFrame, or rows of its own, which all become a stream of Arrow batches."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidegate.python_models.code_runner import CodeFailure

if TYPE_CHECKING:
    import pyarrow

__all__ = ["FROM_PANDAS", "LINE", "is_spark_frame", "rows_of"]

FROM_PANDAS = {b"tidegate.from": b"pandas"}
"""Metadata of the stream: times without a zone are of the session's zone, as Spark gives them to pandas."""

LINE = b"tidegate.line"
"""Metadata of the stream: the line where the model begins; empty where it is a variable."""

_NO_COLUMNS = "the result cannot be read as columns of one type each"
_FAILED_COLUMN = re.compile(r"Conversion failed for column (.*) with type .*", re.DOTALL)
_REMEDY = "Return a Spark DataFrame, a pandas DataFrame, or a PyArrow Table or RecordBatchReader."


def is_spark_frame(value: Any) -> bool:
    """Of a classic session or of Spark Connect; no module is imported to find out."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.") for kind in type(value).__mro__
    )


def rows_of(value: Any, line: int | None, called: str = "model") -> pyarrow.RecordBatchReader:
    """Raises CodeFailure for anything that has no rows. `line`: where the function `called` begins."""
    import pyarrow

    if isinstance(value, pyarrow.RecordBatchReader):
        return _checked(value, line)
    if isinstance(value, pyarrow.RecordBatch):
        value = pyarrow.Table.from_batches([value])
    if not isinstance(value, pyarrow.Table):
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(value, pandas.DataFrame):
            return _checked(_from_pandas(pyarrow, value, line), line)
        if not hasattr(value, "__arrow_c_stream__") or _is_column(value):
            raise _no_frame(value, line, called)
        return _checked(pyarrow.RecordBatchReader.from_stream(value), line)
    return _checked(value.to_reader(), line)


def _no_frame(value: Any, line: int | None, called: str) -> CodeFailure:
    if value is None:
        return CodeFailure(f"`{called}` returns nothing", line, "End it with `return` and a DataFrame.")
    kind = type(value)
    name = (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"
    )
    remedy = _REMEDY
    if kind.__module__.startswith("pyspark.pandas"):
        remedy = "Return `.to_spark()` of it."
    elif _is_column(value):
        # A column of Spark has any attribute that it is asked for.
        remedy = f"Return its frame: `.to_frame()`. {_REMEDY}" if hasattr(kind, "to_frame") else _REMEDY
    elif isinstance(value, list | dict):
        remedy = f"Make a table of it: `pyarrow.Table.from_pylist(…)` or `pandas.DataFrame(…)`. {_REMEDY}"
    return CodeFailure(f"`{called}` returns {name}, which is no DataFrame", line, remedy)


def _is_column(value: Any) -> bool:
    return type(value).__name__ in ("Series", "ChunkedArray", "Array", "Column")


def _checked(reader: pyarrow.RecordBatchReader, line: int | None) -> pyarrow.RecordBatchReader:
    names = reader.schema.names
    if not names:
        raise CodeFailure("the result has no columns", line, "Return a frame with at least one column.")
    _require_names(names, line)
    return reader


def _require_names(names: Sequence[Any], line: int | None) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if name == "":
            raise CodeFailure("the result has a column without a name", line, "Give each column a name.")
        if not isinstance(name, str):
            raise CodeFailure(
                f"the result has a column that is named {name!r}, which is no text", line, "Rename its columns."
            )
        if name.lower() in seen:
            both = f"'{name}'" if seen[name.lower()] == name else f"'{seen[name.lower()]}' and '{name}'"
            raise CodeFailure(
                f"the result has two columns {both}", line, "Rename one of them; capital letters do not count."
            )
        seen[name.lower()] = name


def _from_pandas(pyarrow: Any, frame: Any, line: int | None) -> pyarrow.RecordBatchReader:
    names = [name for name in frame.index.names if name is not None]
    if names or frame.index.nlevels > 1:
        index = ", ".join(f"'{name}'" for name in names) or "of several levels"
        raise CodeFailure(
            f"the result has an index {index}, which would not be written",
            line,
            "Return `.reset_index()` of it, or `.reset_index(drop=True)`.",
        )
    if frame.columns.nlevels > 1:
        raise CodeFailure("the names of the result's columns have several levels", line, "Give each column one name.")
    _require_names(list(frame.columns), line)
    try:
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        why = [str(part) for part in error.args]
        found = _FAILED_COLUMN.fullmatch(why[-1]) if why else None
        what = f"column '{found[1]}' of the result cannot be read as values of one type" if found else _NO_COLUMNS
        raise CodeFailure(
            f"{what}: {' '.join(why[:-1] if found else why)}",
            line,
            "Give the column one type, for example with `.astype(…)`.",
        ) from error
    for at, field in enumerate(table.schema):
        if pyarrow.types.is_decimal(field.type) and frame.dtypes.iloc[at].kind == "O":
            # As Spark types decimals of pandas, whose digits may be others in the next run.
            table = table.set_column(at, field.name, _decimals(pyarrow, table.column(at), field.name, line))
    return table.replace_schema_metadata(FROM_PANDAS).to_reader()


def _decimals(pyarrow: Any, column: Any, name: str, line: int | None) -> Any:
    # The type is that of the largest value; a cast would not notice what does not fit.
    if column.type.precision - column.type.scale > 20 or column.type.scale > 18:
        raise CodeFailure(
            f"column '{name}' of the result has decimals with more than 20 digits before the point, or 18 after it",
            line,
            "Round them, or return a PyArrow table with a decimal type of its own.",
        )
    return column.cast(pyarrow.decimal128(38, 18))
