"""What changed in a table since it was read, from its metadata alone: how many rows, or why that is unknown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.lake.metadata import Field, Snapshot, TableMetadata
from tidegate.lake.progress import TableInput

__all__ = [
    "CHANGED_COLUMNS",
    "ROW_KEY",
    "TableChange",
    "Untraceable",
    "change_since",
    "no_change",
    "other_columns",
]

ROW_KEY = "tidegate.row-key"
"""Of a commit: a JSON list of columns whose values no row changed under its id."""
CHANGED_COLUMNS = "tidegate.changed-columns"
"""Of a commit that only updated rows: a JSON list of the columns in which they differ."""

_REMOVALS = (
    "deleted-data-files",
    "deleted-records",
    "added-delete-files",
    "removed-delete-files",
    "added-position-deletes",
    "removed-position-deletes",
)
_MERGED = "spark.merge-into.num-target-rows-"


@dataclass(frozen=True, slots=True)
class TableChange:
    """From the snapshot that was read to the present one."""

    then_id: int
    """The snapshot that was read."""
    now_id: int
    """The present snapshot."""
    sequence_number: int
    """Of the snapshot that was read."""
    next_row_id: int
    """Of the snapshot that was read."""
    rows_then: int
    rows_now: int
    rows_written: int
    """At most; an updated row counts as written and as removed."""
    rows_removed: int
    """At most."""
    insert_only: bool
    """No row was updated or deleted."""
    may_delete: bool
    """False only where no row id was removed."""
    keyed_by: frozenset[str] | None = None
    """Columns whose values no row changed under its id."""
    columns: frozenset[str] | None = None
    """The only columns in which rows differ; None where rows were inserted or deleted, or it is unknown."""
    bytes_written: int = 0

    @property
    def rows(self) -> int:
        """How many rows differ, at most."""
        return max(self.rows_written, self.rows_removed)


@dataclass(frozen=True, slots=True)
class Untraceable:
    """It is unknown what changed in a table."""

    reason: str
    """Continues a sentence that begins with the table's name."""
    expired: bool = False
    """The snapshot that was read no longer exists."""
    rebuilt: bool = field(default=False, compare=False)
    """All rows were written again since."""
    rolled_back: bool = field(default=False, compare=False)
    """The present state is older than the one that was read, or on another line."""


def change_since(metadata: TableMetadata, last_read: TableInput) -> TableChange | Untraceable:
    """From the state that `last_read` recorded to the present one. Compaction is no change."""
    if last_read.uuid != metadata.uuid:
        return Untraceable("was dropped and created again")
    if reason := other_columns(metadata, last_read):
        return Untraceable(reason)
    if last_read.snapshot_id is None:
        return Untraceable("had no rows before")
    line = list(metadata.ancestors())
    position = next((n for n, snapshot in enumerate(line) if snapshot.id == last_read.snapshot_id), None)
    if position is None:
        return _off_the_line(metadata, line, last_read)
    then, newer = line[position], [snapshot for snapshot in line[:position] if snapshot.changed_rows]
    if reason := _without_lineage(metadata, then, newer) or _other_columns_then(metadata, then, last_read):
        return Untraceable(reason)
    return _change(metadata, then, newer)


def no_change(metadata: TableMetadata) -> TableChange | None:
    """From the present state to itself; None where the table never had a row."""
    then = metadata.last_change
    return _change(metadata, then, []) if then is not None else None


def other_columns(metadata: TableMetadata, last_read: TableInput) -> str | None:
    """How the columns that were read differ now; None where each still has its name, id and type."""
    if metadata.columns_digest == last_read.columns:
        return None
    if last_read.used is None:
        return "has other columns"
    now = {field.name: field for field in metadata.fields}
    names = {field.id: field.name for field in metadata.fields}
    texts = [_difference(name, was, now.get(name), names) for name, was in sorted(last_read.used.items())]
    differences = [text for text in texts if text]
    return f"has other columns: {', '.join(differences)}" if differences else None


def _other_columns_then(metadata: TableMetadata, then: Snapshot, last_read: TableInput) -> str | None:
    """An old snapshot is read with the names and types that it was written with."""
    had = {field.name: field.identity for field in metadata.fields_of(then)}
    used = {field.name: field.identity for field in metadata.fields} if last_read.used is None else last_read.used
    return None if used.items() <= had.items() else "has other columns than the rows that were read"


def _difference(name: str, was: str, now: Field | None, names: Mapping[int, str]) -> str | None:
    if now is not None and now.identity == was:
        return None
    called = names.get(int(was.partition(" ")[0]))
    if called is None:
        return f"{name} is another one" if now else f"{name} is gone"
    return f"{name} is now {called}" if called != name else f"{name} has another type"


def _off_the_line(metadata: TableMetadata, line: list[Snapshot], last_read: TableInput) -> Untraceable:
    """Sequence numbers show how far back the present line reaches; a discarded line may have used the same ones."""
    if not line:
        return Untraceable("was rolled back", rolled_back=True)
    oldest = line[-1]
    if oldest.sequence_number > last_read.sequence_number:
        if oldest.parent_id is None:
            return Untraceable("was rebuilt", rebuilt=True)
        return Untraceable("changed since a snapshot that no longer exists", expired=True)
    if last_read.snapshot_id in metadata.snapshots:
        return Untraceable("was rolled back", rolled_back=True)
    return Untraceable("has another history than the one that was read")


def _without_lineage(metadata: TableMetadata, then: Snapshot, newer: Iterable[Snapshot]) -> str | None:
    if metadata.format_version < 3:
        return f"changed and has no row lineage (format {metadata.format_version})"
    if then.first_row_id is None:
        return "changed and had no row lineage when it was read"
    if any(snapshot.count("total-equality-deletes") for snapshot in (then, *newer)):
        return "changed and has equality deletes, which leave no row lineage"
    if any("total-records" not in snapshot.summary for snapshot in (then, *newer)):
        return "changed by a program that did not count the rows"
    return None


def _change(metadata: TableMetadata, then: Snapshot, newer: list[Snapshot]) -> TableChange:
    """`newer`: the commits since `then` that changed rows, newest first."""
    now = metadata.current
    assert now is not None
    earlier = [*newer, then][1:]
    updating = [commit for commit in zip(newer, earlier, strict=True) if not _only_adds(commit[0])]
    keeps_ids = [_keeps_ids(snapshot, before) for snapshot, before in zip(newer, earlier, strict=True)]
    return TableChange(
        then_id=then.id,
        now_id=now.id,
        sequence_number=then.sequence_number,
        next_row_id=then.next_row_id,
        rows_then=then.rows,
        rows_now=now.rows,
        rows_written=sum(map(_rows_written, newer)),
        rows_removed=min(then.rows, sum(map(_rows_removed, newer))),
        insert_only=not updating,
        may_delete=not all(keeps_ids),
        keyed_by=_kept_columns(metadata, updating),
        columns=_changed_columns(metadata, zip(newer, earlier, strict=True)),
        bytes_written=sum(snapshot.count("added-files-size") for snapshot in newer),
    )


def _only_adds(snapshot: Snapshot) -> bool:
    """A row can only go with its file, or by a delete file."""
    return snapshot.operation == "append" or not any(snapshot.count(key) for key in _REMOVALS)


def _keeps_ids(snapshot: Snapshot, before: Snapshot) -> bool:
    """A MERGE records how many rows it inserted and deleted; that counts where the table's own count agrees."""
    if _only_adds(snapshot):
        return True
    inserted, deleted = (snapshot.summary.get(f"{_MERGED}{what}") for what in ("inserted", "deleted"))
    if deleted != "0" or inserted is None or snapshot.count("deleted-data-files"):
        return False
    return snapshot.rows - before.rows == snapshot.count(f"{_MERGED}inserted")


def _rows_written(snapshot: Snapshot) -> int:
    return _merged(snapshot, "inserted", "updated", most=snapshot.count("added-records"))


def _rows_removed(snapshot: Snapshot) -> int:
    masked = snapshot.count("added-position-deletes") - snapshot.count("removed-position-deletes")
    return _merged(snapshot, "updated", "deleted", most=max(0, snapshot.count("deleted-records") + masked))


def _merged(snapshot: Snapshot, *what: str, most: int) -> int:
    """Where whole files are rewritten, most of their rows are as they were, and only the MERGE knows which."""
    counts = [snapshot.summary.get(f"{_MERGED}{word}", "") for word in what]
    return min(most, sum(map(int, counts))) if all(count.isdigit() for count in counts) else most


def _kept_columns(metadata: TableMetadata, updating: Sequence[tuple[Snapshot, Snapshot]]) -> frozenset[str] | None:
    """Columns in which no updated row differs: those that no commit lists as changed, or else the common key."""
    changed = _changed_columns(metadata, updating)
    if changed is not None:
        return frozenset(metadata.column_names) - changed
    keys = {_names(metadata, snapshot, ROW_KEY) for snapshot, _ in updating}
    key = keys.pop() if len(keys) == 1 else None
    return frozenset(key) if key is not None else None


def _changed_columns(metadata: TableMetadata, commits: Iterable[tuple[Snapshot, Snapshot]]) -> frozenset[str] | None:
    """`commits`: each with the one before it."""
    columns: set[str] = set()
    for snapshot, before in commits:
        names = _names(metadata, snapshot, CHANGED_COLUMNS)
        if names is None or snapshot.rows != before.rows:
            return None
        columns.update(names)
    return frozenset(columns)


def _names(metadata: TableMetadata, snapshot: Snapshot, key: str) -> tuple[str, ...] | None:
    """The columns that a commit names, as they are called now; None where it names none that the table had."""
    try:
        words = json.loads(snapshot.summary.get(key, "null"))
    except ValueError:
        return None
    if snapshot.schema_id is not None and snapshot.schema_id not in metadata.schemas:
        return None
    had = {field.name.lower(): field.id for field in metadata.fields_of(snapshot)}
    if not isinstance(words, list) or any(str(word).lower() not in had for word in words):
        return None
    now = {field.id: field.name for field in metadata.fields}
    return tuple(now[id] for id in (had[str(word).lower()] for word in words) if id in now)
