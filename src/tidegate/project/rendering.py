"""Templates of models → SQL text. Most hold nothing but plain calls and are filled in here; the rest is Jinja's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tidegate.problems import Problem
from tidegate.project.directives import without_templates
from tidegate.project.template_names import MacroFile, Rendered, TemplateContext, TemplateNames, TemplateProblem

if TYPE_CHECKING:
    from tidegate.project.jinja_templates import JinjaTemplates

__all__ = ["Templates"]

_JINJA = re.compile(r"\{[{%#]")
_PLAIN_CALL = re.compile(r"\{\{ *(ref|landing_zone)\( *(?:'([^'\\\n]+)'|\"([^\"\\\n]+)\") *\) *\}\}")


class Templates:
    """The templates of one project. Jinja takes as long to load as a small project to compile, so it comes last."""

    def __init__(self, macros: Sequence[MacroFile] = ()) -> None:
        self._macros = macros

    @cached_property
    def _jinja(self) -> JinjaTemplates:
        from tidegate.project.jinja_templates import JinjaTemplates

        return JinjaTemplates(self._macros)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Those of the macro files."""
        return self._jinja.problems if self._macros else ()

    def render(self, source: str, file: str, context: TemplateContext) -> Rendered | TemplateProblem:
        if _JINJA.search(source):
            source = without_templates(source)
        if not _JINJA.search(source):
            return Rendered(source.replace("\r\n", "\n").replace("\r", "\n"))
        names = TemplateNames(context)
        if (text := _fill_in(source, names)) is not None:
            return Rendered(text, tuple(names.landings))
        return self._jinja.render(source, file, names)

    def names_used(self, source: str) -> frozenset[str]:
        """Every name that the template, or a macro it calls, may look up."""
        source = without_templates(source)
        if _JINJA.search(_PLAIN_CALL.sub("", source)):
            return self._jinja.names_used(source)
        return frozenset(match[1] for match in _PLAIN_CALL.finditer(source))

    def variables(self, source: str) -> frozenset[str] | None:
        """The names that the text itself gives to var(); None where it computes one, or is no template."""
        source = without_templates(source)
        return self._jinja.variables(source) if "var" in source and _JINJA.search(source) else frozenset()

    def segments(self, source: str) -> Iterator[tuple[int, str]]:
        """The plain text between Jinja's signs, each piece with its offset in `source` (whose line ends are \\n)."""
        return self._jinja.segments(without_templates(source))


def _fill_in(source: str, names: TemplateNames) -> str | None:
    """The text of a template with plain calls only: most templates are so, and Jinja is slow.

    None where it has more, or where a call fails; then Jinja renders it.
    """
    if _JINJA.search(_PLAIN_CALL.sub("", source)):
        return None

    def call(match: re.Match[str]) -> str:
        name = match[2] or match[3]
        return names.ref(name) if match[1] == "ref" else names.landing_zone(name)

    try:
        text = _PLAIN_CALL.sub(call, source)
    except ValueError:
        names.landings.clear()
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")
