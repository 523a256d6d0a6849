"""full_refresh: the table becomes the result, in one commit; where no row differs, it stays as it is."""

from __future__ import annotations

from tidegate.errors import EmptyResultError
from tidegate.lake.metadata import TableMetadata
from tidegate.write.difference import write_difference
from tidegate.write.drift import replacement_drift
from tidegate.write.observed_rows import RowsDigest, content_of, content_property, observe, recorded_content
from tidegate.write.replace_table import replace_table
from tidegate.write.request import WriteOutcome, WriteRequest
from tidegate.write.write_columns import TableColumns

__all__ = ["write_full_refresh"]


def write_full_refresh(request: WriteRequest, columns: TableColumns) -> WriteOutcome:
    pointer, before = request.lake.pointer(request.table), request.lake.table(request.table)
    drift = replacement_drift(request, columns)
    observed = observe(request, columns, hashed=request.has_readers)
    rows = replace_table(request, request.result, columns, observed=observed)
    if rows == 0 and request.settings.on_empty == "fail":
        raise EmptyResultError(
            "the result has no rows, and on_empty is fail",
            where=str(request.table),
            remedy="Look at the inputs; set on_empty to keep (the old rows stay) or replace if no rows are right.",
        )
    if rows == 0 and request.settings.on_empty == "keep" and pointer is not None:
        request.lake.restore(request.table, pointer)
        request.observed.counted = None
        warning = "the result has no rows; on_empty: keep left the table as it was"
        return WriteOutcome(0, 0, changed=False, warnings=(warning,))
    if not request.has_readers:
        return WriteOutcome(rows, 0, changed=True, drift=drift)
    content, after = observed.content(rows), request.lake.table(request.table)
    if after is not None and before is not None and _same_shape(before, after):
        if rows == before.total_records:
            content = content or content_of(request.session, request.table.quoted, columns)
            if content == _content_before(request, before, columns):
                request.lake.restore(request.table, pointer)
                return WriteOutcome(0, 0, changed=False, properties=content_property(content, before))
        difference = write_difference(request, columns, before) if request.as_difference else None
        if difference is not None:
            rows, deleted, after = difference.written, difference.deleted, request.lake.table(request.table)
            return WriteOutcome(rows, deleted, changed=True, properties=_properties(content, after))
    return WriteOutcome(rows, 0, changed=True, drift=drift, properties=_properties(content, after))


def _content_before(request: WriteRequest, before: TableMetadata, columns: TableColumns) -> RowsDigest:
    """The digest of the table before the write: recorded in the table, unless another writer changed it last."""
    then = f"{request.table.quoted} VERSION AS OF {before.current_snapshot_id}"
    return recorded_content(before) or content_of(request.session, then, columns)


def _properties(content: RowsDigest | None, after: TableMetadata | None) -> dict[str, str]:
    return content_property(content, after) if content is not None and after is not None else {}


def _same_shape(before: TableMetadata, after: TableMetadata) -> bool:
    """The same columns in the same order, and files laid out in the same way."""
    return all(
        getattr(before, name) == getattr(after, name) for name in ("uuid", "format_version", "fields")
    ) and _layout(before) == _layout(after)


def _layout(metadata: TableMetadata) -> list[tuple[object, ...]]:
    compared = ("source-id", "transform", "direction", "null-order")
    return [
        tuple(entry.get(name) for name in compared) for entry in (*metadata.partition_fields, {}, *metadata.sort_fields)
    ]
