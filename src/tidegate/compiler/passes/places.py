"""Where a model's file names a column of its result."""

from __future__ import annotations

from tidegate.compiler.drafts import Draft, Workspace
from tidegate.compiler.sql.outputs import offset_of_output
from tidegate.project import Place
from tidegate.project.templates.fill import Rendered

__all__ = ["place_of_column"]


def place_of_column(work: Workspace, draft: Draft, name: str) -> Place | None:
    """None where the query does not name it, as with `*`."""
    rendered = work.templates.render(draft.source, draft.file, work.context(draft, later=False))
    offset = offset_of_output(rendered.text, name) if isinstance(rendered, Rendered) else None
    return None if offset is None else work.place(draft, False, offset)
