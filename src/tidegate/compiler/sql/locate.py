"""From an offset in rendered SQL back to the line and column of the template it came from."""

from __future__ import annotations

import re

from tidegate.project.directives import without_templates
from tidegate.project.problems import Place
from tidegate.project.templates.fill import Rendered, Templates
from tidegate.project.templates.names import TemplateContext

__all__ = ["locate"]

_MARK = re.compile("\ue000([\ue010-\ue019]+)\ue002([\ue010-\ue019]+)\ue001")
_DIGITS = {ord(digit): 0xE010 + int(digit) for digit in "0123456789"}


def locate(templates: Templates, source: str, file: str, context: TemplateContext, rendered: str, offset: int) -> Place:
    """Exact wherever the text was written plainly; what an expression produced is placed at that expression."""
    source = without_templates(source.replace("\r\n", "\n").replace("\r", "\n"))
    if source[: offset + 1] == rendered[: offset + 1]:
        return _place(source, file, offset)
    marks = _trace(templates, source, file, context, rendered)
    before = [mark for mark in marks if mark[0] <= offset]
    if before:
        at, origin, length = before[-1]
        return _place(source, file, origin + min(offset - at, length))
    return _place(source, file, _alike(source, rendered, offset))


def _alike(source: str, rendered: str, offset: int) -> int:
    """Without a trace: the place from which all is the same to the end, else the only line that is the same."""
    rest = rendered[offset:]
    if rest and source.endswith(rest):
        return len(source) - len(rest)
    start = rendered.rfind("\n", 0, offset) + 1
    line = rendered[start:].partition("\n")[0]
    at = source.find(line) if line.strip() and source.count(line) == 1 else -1
    return at + offset - start if at >= 0 else 0


def _mark(offset: int, length: int) -> str:
    """Letters that no template splits at, counts or changes the case of."""
    return "\ue000{}\ue002{}\ue001".format(*(str(n).translate(_DIGITS) for n in (offset, length)))


def _number(text: str) -> int:
    return int("".join(chr(ord(letter) - 0xE010 + ord("0")) for letter in text))


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
            marked += [source[last : offset + lead], _mark(offset + lead, len(text) - lead)]
            last = offset + lead
    result = templates.render("".join([*marked, source[last:]]), file, context)
    if not isinstance(result, Rendered):
        return []
    marks, removed = [], 0
    for match in _MARK.finditer(result.text):
        marks.append((match.start() - removed, _number(match[1]), _number(match[2])))
        removed += len(match[0])
    return marks if _MARK.sub("", result.text) == rendered else []


def _place(source: str, file: str, offset: int) -> Place:
    line = source.count("\n", 0, offset) + 1
    return Place(file, line, offset - (source.rfind("\n", 0, offset) + 1) + 1)
