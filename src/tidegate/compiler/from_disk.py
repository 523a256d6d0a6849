"""Compile a project from its files, with the tables of its sources and the results of earlier compilations."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tidegate.compiler.compile_cache import CompileCache
from tidegate.compiler.compiled import Compiled
from tidegate.compiler.drafts import templates_of
from tidegate.compiler.project_compiler import compile_project, gc_paused
from tidegate.config import Settings
from tidegate.errors import OptionsError
from tidegate.lake.branch_catalog import Heads
from tidegate.names import TableName, nearest
from tidegate.problems import did_you_mean
from tidegate.project import LoadedProject, load_project
from tidegate.sources import Discovery, known_tables, mentioned, together

__all__ = ["compile_from_disk", "sources_named"]


def refuse_unknown_variables(project: LoadedProject, settings: Settings, cli_vars: Mapping[str, object]) -> None:
    """Raise for a name that is neither in [vars] nor used by a template.

    Where a template computes the names it looks up, or a file could not be read, any name may be used.
    """
    unknown = sorted(cli_vars.keys() - settings.vars.keys())
    if not unknown or project.unread:
        return
    used = _variables_used(project)
    if used is None:
        return
    variables = used | settings.vars.keys()
    wrong = [name for name in unknown if name not in variables]
    if wrong:
        options = ", ".join(f"--var {name}" for name in wrong)
        message = f"{options}: neither [vars] in tidegate.toml nor var() in a model, test or macro has that name"
        raise OptionsError(message, remedy=_remedy(wrong, variables))


def _variables_used(project: LoadedProject) -> frozenset[str] | None:
    templates = templates_of(project.macros)
    sources = {macro.source for macro in project.macros}
    used: set[str] = set()
    for model in project.models:
        sources.update(test.source for test in model.sql_tests)
        if model.python is None:
            sources.add(model.source)
        elif model.python.variables is None:
            return None
        else:
            used |= model.python.variables
    for source in sources:
        names = templates.variables(source)
        if names is None:
            return None
        used |= names
    return frozenset(used)


def _remedy(wrong: Collection[str], variables: Collection[str]) -> str:
    near = dict.fromkeys(name for word in wrong for name in nearest(word, variables))
    if suggestion := did_you_mean(tuple(near)):
        return suggestion
    listed = f"known are {', '.join(sorted(variables))}" if variables else "the project has no variables"
    return f"leave it out or correct the name; {listed}"


_caches: dict[Path, CompileCache] = {}

_TEXT_ERRORS = frozenset(
    {"EmptyModel", "MultipleStatements", "NotAQuery", "SqlSyntax", "TemplateError"}
    | {"ComputedName", "MissingModel", "ModelSignature", "PythonSyntax", "UnknownTgName"}
)
"""Errors of a text that do not depend on which tables exist."""
_CONFIRMED_SECONDS = 30.0


class _Error(NamedTuple):
    """An error without its place: a line that is added above it does not make it another one."""

    code: str
    model: str | None
    message: str


@dataclass(frozen=True, slots=True)
class _Confirmed:
    """Errors that remained right after the sources were queried, and until when they need no further query."""

    errors: frozenset[_Error]
    until: float


_confirmed: dict[Path, _Confirmed] = {}


def compile_from_disk(
    settings: Settings,
    lake: Heads | Collection[TableName],
    cli_vars: Mapping[str, object],
    *,
    vars_given_before: bool = False,
) -> tuple[Compiled, Discovery]:
    """Sources are queried only where their cached tables are old, or would cause an error.

    A second compilation in this process uses the cache in memory. Raises OptionsError for a variable that nothing uses,
    except for the variables of a run that is resumed: the project may no longer need them.
    """
    with gc_paused():
        cache = _caches.get(settings.root)
        if cache is None:
            cache = _caches[settings.root] = CompileCache.open(settings.root)
        project = load_project(settings, cache.texts)
        if not vars_given_before:
            refuse_unknown_variables(project, settings, cli_vars)
        compile_with = partial(compile_project, project, settings, lake, cli_vars, cache=cache)
        discovery = known_tables(settings, names=sources_named(project, settings, cli_vars))
        compiled = compile_with(discovery)
        if doubtful := _sources_to_query(settings, compiled, discovery):
            fresh = known_tables(settings, refresh=True, names=doubtful)
            discovery = together((discovery.without(doubtful), fresh))
            compiled = compile_with(discovery)
            until = time.monotonic() + _CONFIRMED_SECONDS
            _confirmed[settings.root] = _Confirmed(_table_errors(compiled), until)
        cache.save()
    return compiled, discovery


def sources_named(project: LoadedProject, settings: Settings, cli_vars: Mapping[str, object]) -> frozenset[str]:
    """The sources that something in the project mentions."""
    return mentioned(settings.sources, _texts(project, settings, cli_vars)) if settings.sources else frozenset()


def _texts(project: LoadedProject, settings: Settings, cli_vars: Mapping[str, object]) -> Iterator[str]:
    for model in project.models:
        yield model.source
        yield from (test.source for test in model.sql_tests)
        yield from (argument for check in model.checks if check.call for argument in check.call.arguments)
        yield from model.settings.depends_on
    yield from (macro.source for macro in project.macros)
    # A variable may hold the whole name of a table, or the part before its dot.
    yield from (f"{value}." for value in (*settings.vars.values(), *cli_vars.values()))


def _sources_to_query(settings: Settings, compiled: Compiled, discovery: Discovery) -> frozenset[str]:
    """The sources whose present tables may resolve an error: those read from the cache, and those not queried."""
    errors = _table_errors(compiled)
    if not errors:
        return frozenset()
    confirmed = _confirmed.get(settings.root)
    if confirmed and errors <= confirmed.errors and time.monotonic() < confirmed.until:
        return frozenset()
    # A template can compose a name that is nowhere in its text.
    unknown = " ".join(error.message.lower() for error in errors if error.code == "UnknownDependency")
    in_errors = frozenset(name for name in settings.sources if f"'{name.lower()}." in unknown)
    return discovery.cached | (in_errors - discovery.queried)


def _table_errors(compiled: Compiled) -> frozenset[_Error]:
    errors = (error for error in compiled.errors if error.code not in _TEXT_ERRORS)
    return frozenset(_Error(error.code, error.model, error.message) for error in errors)
