"""What a branch of ours on Nessie remembers of itself: two namespaces on it that nobody uses, never published.

Nessie keeps nothing beside a reference's name and hash, and what is kept on the branch goes with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tidegate.lake.catalogs.nessie_api import Key, Tree
from tidegate.lake.port import BranchInfo, Pointer, PointerKind
from tidegate.names import TableName

__all__ = ["HEARTBEAT", "MARK", "Mark", "branch_info", "read_mark"]

MARK: Key = ("_tidegate_branch",)
HEARTBEAT: Key = ("_tidegate_heartbeat",)
"""Apart, so that a heartbeat is small and in nobody's way."""

_OUR_NAMES = re.compile(r"(?:run|read|maintain)-(\d{8}-\d{6})\b.*")


@dataclass(frozen=True, slots=True)
class Mark:
    """`main` is the branch it came from, `base` the commit; `moved`: tables whose base is another since."""

    main: str
    created_at: datetime
    base: str
    moved: Mapping[TableName, Pointer | None] = field(default_factory=dict)
    kept: bool = False

    def properties(self) -> dict[str, str]:
        moved = [[*table, *((p.kind.value, p.location) if p else ())] for table, p in sorted(self.moved.items())]
        return {
            "main": self.main,
            "created_at": self.created_at.isoformat(),
            "base": self.base,
            "moved": json.dumps(moved, separators=(",", ":")),
            "kept": str(self.kept).lower(),
        }


def read_mark(tree: Tree) -> Mark | None:
    """None: the branch is not one of ours."""
    content = tree.contents.get(MARK)
    if content is None:
        return None
    found = content["properties"]
    moved = {
        TableName(*row[:3]): Pointer(PointerKind(row[3]), row[4]) if len(row) > 3 else None
        for row in json.loads(found["moved"])
    }
    created = datetime.fromisoformat(found["created_at"])
    return Mark(found["main"], created, found["base"], moved, found["kept"] == "true")


def branch_info(name: str, main: str, tree: Tree) -> BranchInfo | None:
    """None: the branch belongs to others, or to another main. One that a run could not mark any more tells its age."""
    mark = read_mark(tree)
    if mark is not None:
        beat = tree.contents.get(HEARTBEAT)
        alive = datetime.fromisoformat(beat["properties"]["at"]) if beat else mark.created_at
        return BranchInfo(name, mark.created_at, alive, mark.kept) if mark.main == main else None
    if named := _OUR_NAMES.fullmatch(name):
        began = datetime.strptime(named[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
        return BranchInfo(name, began, began, kept=False)
    return None
