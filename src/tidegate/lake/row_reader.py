"""Rows of a table as one metadata file has them, read without a JVM, deletes applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError
from tidegate.failures import first_line
from tidegate.lake.branch_catalog import Pointer

if TYPE_CHECKING:
    from pyarrow import RecordBatch

__all__ = ["read_batches"]


def read_batches(
    pointer: Pointer, columns: Sequence[str], equal: Mapping[str, Any] | None = None
) -> Iterator[RecordBatch]:
    """Batch by batch, so that what is held does not grow with the table. `equal`: only rows with these values."""
    import pyarrow
    from pyiceberg.exceptions import NoSuchTableError
    from pyiceberg.expressions import AlwaysTrue, And, EqualTo
    from pyiceberg.table import StaticTable

    try:
        table = StaticTable.from_metadata(pointer.location)
        condition = AlwaysTrue()
        for name, value in (equal or {}).items():
            condition = And(condition, EqualTo(name, value))
        reader = table.scan(condition, tuple(columns)).to_arrow_batch_reader()
        schema = pyarrow.schema([field.with_type(_small(field.type)) for field in reader.schema])
        for batch in reader:
            yield batch.cast(schema)
    except (OSError, ValueError, NotImplementedError, NoSuchTableError) as error:
        raise LakeError(
            f"the rows of a table cannot be read: {first_line(error)}",
            where=pointer.location,
            remedy="`tidegate preview TABLE` reads it with Spark.",
        ) from error


def _small(kind: Any) -> Any:
    """The same type with 32-bit offsets, for which every function of Arrow is there."""
    import pyarrow
    from pyarrow import types

    if types.is_large_string(kind):
        return pyarrow.string()
    if types.is_large_binary(kind):
        return pyarrow.binary()
    if types.is_list(kind) or types.is_large_list(kind):
        return pyarrow.list_(kind.value_field.with_type(_small(kind.value_type)))
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(_small(field.type)) for field in kind])
    if types.is_map(kind):
        return pyarrow.map_(
            kind.key_field.with_type(_small(kind.key_type)), kind.item_field.with_type(_small(kind.item_type))
        )
    return kind
