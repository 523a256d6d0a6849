"""SQL text → syntax trees: each file must be one query."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.drafts import Workspace
from tidegate.compiler.queries import SqlFault, parse_query
from tidegate.compiler.values import Diagnostic

__all__ = ["parse_queries"]


def parse_queries(work: Workspace) -> Iterator[Diagnostic]:
    for draft in work.sound:
        for rendering in draft.renderings:
            first = draft.renderings[0]
            if rendering is not first and rendering.rendered == first.rendered:
                rendering.query = first.query
                continue
            parsed = parse_query(rendering.rendered.text)
            if isinstance(parsed, SqlFault):
                place = work.place(draft, rendering, parsed.offset)
                yield work.error(draft, parsed.code, parsed.message, place, parsed.suggestion)
                break
            rendering.query = parsed
