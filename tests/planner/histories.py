"""Tables with a history, told in a few words a line, and the Iceberg metadata that such a history leaves.

append +1000           rows are added
merge +1 ~5 -2         a MERGE: inserted, updated, deleted; `key=id` and `columns=status` say what it promises
update ~5, delete -5   what says nothing of the rows it touched but their number
overwrite +10          INSERT OVERWRITE: every row goes, new ones come
rebuild +10            CREATE OR REPLACE: a new line begins
compact                the same rows in other files
rollback 1             the line goes on from snapshot 1
forget 2               snapshot 2 was on a branch that nobody kept
expire 1 2             these snapshots are not kept any more
rename a b, swap a b, retype a long, add c string, drop c
recreate, upgrade      another table of the same name; format 2 becomes 3
read                   here the model ran
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tidegate.lake import Pointer, PointerKind
from tidegate.lake.metadata import TableMetadata, read_metadata

COLUMNS = (("id", "int"), ("customer", "int"), ("status", "string"), ("amount", "int"))
BYTES_PER_ROW = 40


class History:
    def __init__(self, folder: Path, format_version: int = 3, progress: str | None = None) -> None:
        self.folder = folder
        self.format_version = format_version
        self.progress = progress
        self.uuid = f"{folder.name}-1"
        self.fields = [{"id": n, "name": name, "type": kind} for n, (name, kind) in enumerate(COLUMNS, 1)]
        self.last_field = len(self.fields)
        self.schemas: list[dict[str, Any]] = []
        self.snapshots: list[dict[str, Any]] = []
        self.current: int | None = None
        self.last_id = self.sequence = self.next_row = 0
        self.was_read: TableMetadata | None = None
        self._keep_schema()

    def play(self, lines: str) -> TableMetadata:
        """The table at the end; `was_read` is what it was at the line `read`, else the same."""
        for line in filter(None, map(str.strip, lines.splitlines())):
            word, *rest = line.split()
            getattr(self, f"do_{word}")(*rest)
        self.was_read = self.was_read or self.metadata()
        return self.metadata()

    def metadata(self) -> TableMetadata:
        found = read_metadata(self.pointer())
        assert isinstance(found, TableMetadata)
        return found

    def pointer(self) -> Pointer:
        data = {
            "format-version": self.format_version,
            "table-uuid": self.uuid,
            "location": f"file:{self.folder}",
            "last-updated-ms": 1,
            "last-sequence-number": self.sequence,
            "current-schema-id": len(self.schemas) - 1,
            "schemas": self.schemas,
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {"tidegate.progress": self.progress} if self.progress else {},
            "current-snapshot-id": -1 if self.current is None else self.current,
            "next-row-id": self.next_row,
            "refs": {},
            "snapshots": self.snapshots,
        }
        text = json.dumps(data)
        path = self.folder / "metadata" / f"{len(list(self.folder.rglob('*.json'))):05d}-x.metadata.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return Pointer(PointerKind.TABLE, f"file:{path}")

    def do_read(self) -> None:
        self.was_read = self.metadata()

    def do_append(self, *words: str) -> None:
        came = _numbers(words)["+"]
        self._commit("append", words, came=came, summary={"added-data-files": 1, "added-records": came})

    def do_merge(self, *words: str) -> None:
        count = _numbers(words)
        came, went = count["+"] + count["~"], count["~"] + count["-"]
        counts = {"inserted": count["+"], "updated": count["~"], "deleted": count["-"]}
        told = {f"spark.merge-into.num-target-rows-{what}": number for what, number in counts.items()}
        self._commit("overwrite", words, came, masked=went, summary=_written(came, went) | told)

    def do_update(self, *words: str) -> None:
        rows = _numbers(words)["~"]
        self._commit("overwrite", words, rows, masked=rows, summary=_written(rows, rows))

    def do_delete(self, *words: str) -> None:
        rows = _numbers(words)["-"]
        self._commit("delete", words, 0, masked=rows, summary=_written(0, rows))

    def do_overwrite(self, *words: str) -> None:
        came, total = _numbers(words)["+"], self._totals()[0]
        removed = {"deleted-data-files": 1, "deleted-records": total}
        self._commit("overwrite", words, came, removed=total, summary=_written(came, 0) | removed)

    def do_rebuild(self, *words: str) -> None:
        self.current = None
        came = _numbers(words)["+"]
        self._commit("overwrite", words, came, summary=_written(came, 0))

    def do_compact(self) -> None:
        total, masked = self._totals()
        self._commit("replace", (), total - masked, removed=total, masked=-masked, summary={"added-data-files": 1})

    def do_rollback(self, to: str) -> None:
        self.current = int(to)

    def do_forget(self, gone: str) -> None:
        (lost,) = (s for s in self.snapshots if s["snapshot-id"] == int(gone))
        self.snapshots.remove(lost)
        self.current = lost["parent-snapshot-id"]
        self.sequence, self.next_row = lost["sequence-number"] - 1, lost["first-row-id"]

    def do_expire(self, *gone: str) -> None:
        self.snapshots = [s for s in self.snapshots if str(s["snapshot-id"]) not in gone]

    def do_rename(self, old: str, new: str) -> None:
        self._reshape({old: {"name": new}})

    def do_swap(self, one: str, other: str) -> None:
        self._reshape({one: {"name": other}, other: {"name": one}})

    def do_retype(self, name: str, kind: str) -> None:
        self._reshape({name: {"type": kind}})

    def do_add(self, name: str, kind: str) -> None:
        self.last_field += 1
        self.fields = [*self.fields, {"id": self.last_field, "name": name, "type": kind}]
        self._keep_schema()

    def do_drop(self, name: str) -> None:
        self.fields = [field for field in self.fields if field["name"] != name]
        self._keep_schema()

    def do_recreate(self) -> None:
        self.uuid, self.snapshots, self.current, self.sequence, self.next_row = f"{self.uuid}+", [], None, 0, 0

    def do_upgrade(self) -> None:
        self.format_version = 3

    def _reshape(self, changes: dict[str, dict[str, str]]) -> None:
        self.fields = [{**field, **changes.get(str(field["name"]), {})} for field in self.fields]
        self._keep_schema()

    def _keep_schema(self) -> None:
        self.schemas.append({"schema-id": len(self.schemas), "fields": list(self.fields)})

    def _totals(self) -> tuple[int, int]:
        summary = next((s["summary"] for s in self.snapshots if s["snapshot-id"] == self.current), {})
        return int(summary.get("total-records", 0)), int(summary.get("total-position-deletes", 0))

    def _commit(
        self,
        operation: str,
        words: tuple[str, ...],
        came: int,
        removed: int = 0,
        masked: int = 0,
        summary: dict[str, int] | None = None,
    ) -> None:
        total, hidden = self._totals()
        self.last_id, self.sequence = self.last_id + 1, self.sequence + 1
        counts = {
            **(summary or {}),
            "added-files-size": came * BYTES_PER_ROW,
            "total-records": total + came - removed,
            "total-position-deletes": hidden + masked,
            "total-files-size": (total + came - removed) * BYTES_PER_ROW,
        }
        lineage = {"first-row-id": self.next_row, "added-rows": came} if self.format_version == 3 else {}
        self.snapshots.append(
            {
                "snapshot-id": self.last_id,
                **({} if self.current is None else {"parent-snapshot-id": self.current}),
                "sequence-number": self.sequence,
                "timestamp-ms": 1000 * self.sequence,
                "manifest-list": "",
                "schema-id": len(self.schemas) - 1,
                **lineage,
                "summary": {
                    "operation": operation,
                    "tidegate.run-id": "run-1",
                    **_promises(words),
                    **{key: str(count) for key, count in counts.items() if count or key.startswith("total")},
                    **{key: str(count) for key, count in counts.items() if key.startswith("spark.")},
                },
            }
        )
        self.current = self.last_id
        self.next_row += came


def _written(came: int, masked: int) -> dict[str, int]:
    counts = {"added-records": came, "added-position-deletes": masked}
    return counts | ({"added-data-files": 1} if came else {}) | ({"added-delete-files": 1} if masked else {})


def _numbers(words: tuple[str, ...]) -> dict[str, int]:
    return {"+": 0, "~": 0, "-": 0} | {word[0]: int(word[1:]) for word in words if word[0] in "+~-"}


def _promises(words: tuple[str, ...]) -> dict[str, str]:
    given = dict(word.split("=") for word in words if "=" in word)
    names = {"key": "tidegate.row-key", "columns": "tidegate.changed-columns"}
    return {names[key]: json.dumps(value.split(",")) for key, value in given.items()}
