"""From an offset in rendered SQL back to the line and column of the template it came from."""

from __future__ import annotations

import re

from tidegate.project.problems import Place
from tidegate.project.template_names import TemplateContext
from tidegate.project.templates import Rendered, Templates

__all__ = ["locate"]

_MARK = re.compile("\ue000(\\d+),(\\d+)\ue001")


def locate(templates: Templates, source: str, file: str, context: TemplateContext, rendered: str, offset: int) -> Place:
    """Exact wherever the text was written plainly; what an expression produced is placed at that expression."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    if source[: offset + 1] == rendered[: offset + 1]:
        return _place(source, file, offset)
    marks = _trace(templates, source, file, context, rendered)
    before = [mark for mark in marks if mark[0] <= offset]
    if before:
        at, origin, length = before[-1]
        return _place(source, file, origin + min(offset - at, length))
    return Place(file)


def _trace(
    templates: Templates, source: str, file: str, context: TemplateContext, rendered: str
) -> list[tuple[int, int, int]]:
    """Render once more with a mark in each piece of plain text: (offset in the result, in the source, length).

    A template that looks at its own text may come out otherwise when marked; then there is no trace.
    """
    marked, last = [], 0
    for offset, text in templates.segments(source):
        lead = len(text) - len(text.lstrip())
        if lead < len(text):
            marked += [source[last : offset + lead], f"\ue000{offset + lead},{len(text) - lead}\ue001"]
            last = offset + lead
    result = templates.render("".join([*marked, source[last:]]), file, context)
    if not isinstance(result, Rendered):
        return []
    marks, removed = [], 0
    for match in _MARK.finditer(result.text):
        marks.append((match.start() - removed, int(match[1]), int(match[2])))
        removed += len(match[0])
    return marks if _MARK.sub("", result.text) == rendered else []


def _place(source: str, file: str, offset: int) -> Place:
    line = source.count("\n", 0, offset) + 1
    return Place(file, line, offset - (source.rfind("\n", 0, offset) + 1) + 1)
