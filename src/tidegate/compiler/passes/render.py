"""A template → SQL text, once as a first run would have it and, where that differs, once as a later run would."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.drafts import Draft, Rendering, Workspace
from tidegate.compiler.values import Diagnostic
from tidegate.project.templates.fill import Fault

__all__ = ["render_template"]


def render_template(work: Workspace, draft: Draft) -> Iterator[Diagnostic]:
    draft.content.names = work.templates.names_used(draft.source)
    for later in (False, True) if draft.test is None else (False,):
        result = work.templates.render(draft.source, draft.file, work.context(draft, later))
        if isinstance(result, Fault):
            yield work.error(draft, "TemplateError", result.message, result.place, result.suggestion)
            return
        draft.asked = tuple(dict.fromkeys((*draft.asked, *result.asked)))
        first = draft.content.renderings[0] if draft.content.renderings else None
        if first is None or (first.text, first.landings) != (result.text, result.landings):
            draft.content.renderings.append(Rendering(later, result.landings, result.text))
