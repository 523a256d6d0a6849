"""What every command starts from: the options that all of them take, and the rooms below, opened for this project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from tidegate.errors import SelectionError
from tidegate.names import TableName, nearest

if TYPE_CHECKING:
    from tidegate.cli.output import Output
    from tidegate.cli.paint import Paint
    from tidegate.compiler.values import Compiled, CompiledModel
    from tidegate.config import Settings
    from tidegate.lake import BranchCatalog, BranchInfo, Change, Heads, TableMetadata, ViewMetadata
    from tidegate.project import Project
    from tidegate.sources import Discovery
    from tidegate.state import StateReader

__all__ = ["Invocation", "Workspace", "common_options", "open_workspace", "pass_invocation"]


@dataclass
class Invocation:
    """One call of the program. Options set it wherever they stand, before the command or after it."""

    project: Path | None = None
    config: Path | None = None
    json: bool = False
    debug: bool = False
    quiet: bool = False
    verbose: bool = False
    no_color: bool = False
    command: str = ""

    @property
    def root(self) -> Path:
        """The folder that was named, or that the program was started in; the project may be one above it."""
        return self.project or Path()

    @classmethod
    def peek(cls, args: Sequence[str]) -> Invocation:
        """What can be known before the arguments are parsed: how to report that they cannot be."""
        options = args[: args.index("--")] if "--" in args else args
        return cls(json="--json" in options, debug="--debug" in options, no_color="--no-color" in options)

    def output(self) -> Output:
        from tidegate.cli.output import HumanOutput, JsonOutput

        return JsonOutput(self.command, quiet=self.quiet) if self.json else HumanOutput(self.quiet)

    def painter(self, stream: TextIO) -> Paint:
        from tidegate.cli.paint import painter, plain

        return plain if self.no_color else painter(stream)

    def stream(self) -> Output:
        """For answers that keep coming: each document is one line."""
        from tidegate.cli.output import HumanOutput, JsonOutput

        return JsonOutput(self.command, indent=None, quiet=self.quiet) if self.json else HumanOutput(self.quiet)


pass_invocation = click.make_pass_decorator(Invocation)


def _remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    invocation = ctx.ensure_object(Invocation)
    if ctx.parent is not None:
        invocation.command = ctx.info_name or ""
    if value is not None and value is not False:
        setattr(invocation, str(parameter.name), value)
    if invocation.quiet and invocation.verbose:
        raise click.UsageError("--quiet asks for less and --verbose for more: give one of them.", ctx)


def _common(*names: str, help: str, **attributes: Any) -> Callable[..., Any]:
    return click.option(*names, help=help, expose_value=False, is_eager=True, callback=_remember, **attributes)


_FILE = click.Path(path_type=Path)
_COMMON: tuple[Callable[..., Any], ...] = (
    _common("--project", type=_FILE, metavar="DIR", help="The project's folder (default: this one)."),
    _common("-c", "--config", type=_FILE, metavar="FILE", help="Another file than the project's tidegate.toml."),
    _common("--json", is_flag=True, help="Write one JSON document to stdout, everything else to stderr."),
    _common("-q", "--quiet", is_flag=True, help="Show only failures and the summary."),
    _common("-v", "--verbose", is_flag=True, help="Show more: reasons, and the time of each phase."),
    _common("--no-color", is_flag=True, help="Use no colors; so does the variable NO_COLOR."),
    _common("--debug", is_flag=True, help="Show the traceback of an error."),
)


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_COMMON):
        command = option(command)
    return command


@dataclass(frozen=True)
class Workspace:
    """A project as the commands that start no JVM see it. Looking changes nothing, not even on a new project."""

    settings: Settings

    def state(self) -> StateReader:
        from tidegate.state import open_reader

        return open_reader(self.settings.state.url)

    def catalog(self) -> BranchCatalog:
        from tidegate.lake import open_catalog

        return open_catalog(self.settings)

    def heads(self) -> Heads:
        """What main holds; nothing where no run has made a lake yet."""
        return self.catalog().head() if self._is_begun() else {}

    def _is_begun(self) -> bool:
        from tidegate.lake import is_begun

        return is_begun(self.settings)

    def metadata(self, table: TableName) -> TableMetadata | ViewMetadata | None:
        from tidegate.lake import read_metadata

        pointer = self.heads().get(table)
        return None if pointer is None else read_metadata(pointer)

    def branches(self) -> list[tuple[BranchInfo, tuple[Change, ...]]]:
        if not self._is_begun():
            return []
        catalog = self.catalog()
        return [(info, catalog.changed_tables(info.name)) for info in catalog.list_branches()]

    def compile(self, variables: Mapping[str, str] | None = None) -> Compiled:
        """With its errors, if there are some, as diagnostics."""
        return self.compile_project(variables)[1]

    def compile_project(self, variables: Mapping[str, str] | None = None) -> tuple[Project, Compiled]:
        """What was read from disk, too: binding a query to a run's values needs its templates."""
        return self.compile_with_sources(variables)[:2]

    def compile_with_sources(self, variables: Mapping[str, str] | None = None) -> tuple[Project, Compiled, Discovery]:
        """What the sources answered, too, and which of them did not."""
        from tidegate.compiler import compile_from_disk

        return compile_from_disk(self.settings, self.heads(), variables or {})

    def find_model(self, compiled: Compiled, name: str) -> CompiledModel:
        table = self._parse(name, (*compiled.models, *compiled.broken))
        if table in compiled.broken:
            raise SelectionError(f"'{name}' has errors", remedy="`tidegate compile` tells them.")
        if table not in compiled.models:
            raise self._unknown("model", name, compiled.models, "`tidegate ls` lists the models.")
        return compiled.models[table]

    def published(self, name: str) -> TableName:
        heads = self.heads()
        table = self._parse(name, heads)
        if table not in heads:
            raise self._unknown("published table", name, heads, f"`tidegate run +{name}` builds a model's table.")
        return table

    def select(
        self,
        compiled: Compiled,
        patterns: Sequence[str],
        exclude: Sequence[str] = (),
        ephemeral: bool = False,
    ) -> frozenset[TableName]:
        """What SELECT and --exclude mean. `ephemeral`: also models that have no table."""
        from tidegate.planner.model_states import read_states
        from tidegate.planner.selection import select

        among = replace(compiled, waves=(tuple(compiled.models),)) if ephemeral else compiled
        return select(among, patterns, exclude, lambda: read_states(compiled, self.heads()))

    def history_at_stake(
        self, select: Sequence[str], exclude: Sequence[str], variables: Mapping[str, str]
    ) -> list[str]:
        """The selected tables whose history a full refresh would lose."""
        from tidegate.planner.decide import keeps_history

        compiled = self.compile(variables)
        if compiled.project_errors:
            return []
        heads = self.heads()
        chosen = (table for table in self.select(compiled, select, exclude) if table in heads)
        return sorted(table.short(compiled.namespace) for table in chosen if keeps_history(compiled.models[table]))

    def _parse(self, name: str, known: Iterable[TableName]) -> TableName:
        """A name without its layer means the one of `known` that has it."""
        namespace = self.settings.project.namespace
        meant = sorted({table for table in known if table.name.lower() == name.lower()})
        if len(meant) == 1:
            return meant[0]
        if meant:
            from tidegate.planner.selectors import ambiguous_name

            raise ambiguous_name(name, [table.short(namespace) for table in meant])
        try:
            return TableName.parse(name, namespace)
        except ValueError as error:
            close = nearest(name, (table.name for table in known))
            remedy = f"Did you mean {' or '.join(close)}?" if close else "`tidegate ls` lists the models."
            raise SelectionError(str(error), remedy=remedy) from error

    def _unknown(self, what: str, name: str, known: Iterable[TableName], remedy: str) -> SelectionError:
        close = nearest(name, (table.short(self.settings.project.namespace) for table in known))
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        return SelectionError(f"There is no {what} '{name}'", remedy=f"{meant}{remedy}")


def open_workspace(invocation: Invocation) -> Workspace:
    """Without --project and --config the project is the nearest one from here upwards."""
    from tidegate.config.load import find_project, load_settings

    root = invocation.root
    if invocation.project is None and invocation.config is None:
        root = find_project(root)
        invocation.project = root
    return Workspace(load_settings(root, invocation.config))
