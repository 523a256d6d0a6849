"""Variables that were given for one command: each must be one that the project has a use for."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidegate.compiler.drafts import templates_of
from tidegate.config import Settings
from tidegate.errors import OptionsError
from tidegate.names import nearest
from tidegate.project import Project
from tidegate.project.problems import did_you_mean

__all__ = ["refuse_unknown_variables"]


def refuse_unknown_variables(project: Project, settings: Settings, given: Mapping[str, object]) -> None:
    """Raise for a name that neither [vars] has nor any template asks for.

    Where a template computes the names it asks for, or a file could not be read, no name can be called wrong.
    """
    unknown = sorted(given.keys() - settings.vars.keys())
    if not unknown or project.unread:
        return
    asked = _asked(project)
    if asked is None:
        return
    known = asked | settings.vars.keys()
    wrong = [name for name in unknown if name not in known]
    if wrong:
        options = ", ".join(f"--var {name}" for name in wrong)
        message = f"{options}: neither [vars] in tidegate.toml nor var() in a model, test or macro has that name"
        raise OptionsError(message, remedy=_remedy(wrong, known))


def _asked(project: Project) -> frozenset[str] | None:
    templates = templates_of(project.macros)
    sources = {macro.source for macro in project.macros}
    for model in project.models:
        sources |= {model.source, *(test.source for test in model.sql_tests)}
    asked: set[str] = set()
    for source in sources:
        names = templates.variables(source)
        if names is None:
            return None
        asked |= names
    return frozenset(asked)


def _remedy(wrong: Collection[str], known: Collection[str]) -> str:
    near = dict.fromkeys(name for word in wrong for name in nearest(word, known))
    if meant := did_you_mean(tuple(near)):
        return meant
    listed = f"known are {', '.join(sorted(known))}" if known else "the project has no variables"
    return f"leave it out or correct the name; {listed}"
