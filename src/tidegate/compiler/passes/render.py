"""Templates → SQL text, once as a first run would have it and once as a later run would."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.drafts import Rendering, Workspace
from tidegate.compiler.values import Diagnostic
from tidegate.project.templates import Fault

__all__ = ["render_templates"]


def render_templates(work: Workspace) -> Iterator[Diagnostic]:
    for draft in work.sound:
        for context in work.contexts(draft):
            result = work.templates.render(draft.source, draft.file, context)
            if isinstance(result, Fault):
                yield work.error(draft, "TemplateError", result.message, result.place, result.suggestion)
                break
            draft.renderings.append(Rendering(context, result))
