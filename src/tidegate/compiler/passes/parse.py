"""SQL text → a syntax tree and its facts: each file must be one query."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.drafts import Draft, Workspace
from tidegate.compiler.facts import facts_of
from tidegate.compiler.sql.queries import SqlFault, examined, parse_query
from tidegate.compiler.sql.row_by_row import Obstacle, read_row_query
from tidegate.compiler.values import Diagnostic
from tidegate.project import Materialized

__all__ = ["parse_text"]


def parse_text(work: Workspace, draft: Draft) -> Iterator[Diagnostic]:
    for rendering in draft.content.renderings:
        parsed = parse_query(rendering.text or "")
        if isinstance(parsed, SqlFault):
            place = work.place(draft, rendering.later, parsed.offset)
            yield work.error(draft, parsed.code, parsed.message, place, parsed.suggestion)
            return
        is_model = draft.test is None
        refused, rendering.unlisted = examined(parsed, work.permissions(draft), model=is_model)
        for fault in (*parsed.faults, *refused):
            place = work.place(draft, rendering.later, fault.offset)
            yield work.error(draft, fault.code, fault.message, place, fault.suggestion)
        rendering.query, rendering.facts = parsed, facts_of(parsed, rendering.landings)
        draft.star = draft.star or rendering.facts.star
        if _is_asked_for_rows(draft):
            rows = read_row_query(parsed)
            rendering.obstacle = rows if isinstance(rows, Obstacle) else None


def _is_asked_for_rows(draft: Draft) -> bool:
    """Few are: a WITH in the query has to be written out and parsed again for it."""
    settings = draft.model.settings
    return draft.test is None and (
        settings.materialized is Materialized.EPHEMERAL
        or (settings.on_duplicate == "latest" and settings.watermark_column is None)
    )
