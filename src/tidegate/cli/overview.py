"""`tidegate` without a command: where you are, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate import __version__
from tidegate.cli.invocation import Invocation, open_workspace
from tidegate.errors import ConfigError

if TYPE_CHECKING:
    from tidegate.operations.listings import Overview

__all__ = ["show_overview"]

_IN_A_PROJECT = {
    "tidegate plan": "show what would run, and why",
    "tidegate run": "build on a branch, check, publish in one step",
    "tidegate compile": "report everything that is wrong with the project",
    "tidegate preview MODEL": "show rows of a published table",
    "tidegate history": "list past runs",
}
_ELSEWHERE = {
    "tidegate demo": "write a small shop into demo/, run it twice, and show what happened",
    "tidegate init shop": "start a project of your own in the folder shop",
    "tidegate doctor": "check this machine: Java, memory, jars",
}


def show_overview(invocation: Invocation) -> None:
    try:
        workspace = open_workspace(invocation)
    except ConfigError as error:
        lines = tuple(_without_project(invocation, error))
        invocation.output().show({"project": None, "problem": error.message}, lambda: lines)
        return
    from tidegate.operations.listings import overview

    facts = overview(workspace)
    invocation.output().show(facts.document(), lambda: _of_project(facts))


def _of_project(facts: Overview) -> Iterator[str]:
    from tidegate.amounts import plural, timestamp

    yield f"Tidegate {__version__}, project {facts.project} in {facts.root}"
    yield ""
    layers = ", ".join(f"{layer} {count}" for layer, count in facts.layers.items())
    models = (
        f"{plural(facts.models, 'model')} ({layers})" if layers else "none yet: put a SQL file into models/<layer>/"
    )
    yield f"  models    {models}"
    last = facts.last_run
    run = f"{last.run_id}, {last.status}, {timestamp(last.started_at)} UTC" if last else "none yet"
    yield f"  last run  {run}"
    yield ""
    yield from _commands(_IN_A_PROJECT)


def _without_project(invocation: Invocation, error: ConfigError) -> Iterator[str]:
    yield f"Tidegate {__version__} builds a lakehouse on a branch, checks it, and publishes every table in one step."
    yield ""
    if error.problems:
        yield f"The project here cannot be read: {error.message}"
        yield from (f"  - {problem}" for problem in error.problems)
    else:
        folder = (invocation.config or invocation.root or Path()).absolute()
        yield f"There is no project in {folder} or any folder above it."
    yield ""
    yield from _commands(_ELSEWHERE)


def _commands(lines: Mapping[str, str]) -> Iterator[str]:
    width = max(map(len, lines))
    yield from (f"  {command:<{width}}  {what}" for command, what in lines.items())
    yield ""
    yield "`tidegate --help` lists every command, `tidegate COMMAND --help` explains one."
