"""`compile`: everything that is wrong with the project, without a JVM; with --watch again on every save."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import click

from tidegate.amounts import plural
from tidegate.cli.error_text import error_document, error_lines, render_diagnostics
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.shared_options import variables_option
from tidegate.cli.terminal import Paint
from tidegate.compiler.compiled import count_line
from tidegate.errors import TidegateError
from tidegate.operations.compile import Compilation, compile_workspace
from tidegate.operations.compile import explain as explain_diagnostic

__all__ = ["compile_"]

_MOST_NAMED = 3


@click.command("compile")
@click.option("--watch", is_flag=True, help="Compile again on every save, until Ctrl-C.")
@click.option("--explain", metavar="CODE", help="Explain what a diagnostic means and what to do about it.")
@click.option(
    "--against",
    metavar="REF",
    help="Report also what changed for readers of the tables since a git ref, or since what was last `published`.",
)
@variables_option
@common_options
@pass_invocation
def compile_(
    invocation: Invocation, watch: bool, explain: str | None, against: str | None, variables: dict[str, str]
) -> int:
    """Report everything that is wrong with the project; nothing is run.

    Ends with 1 if there is an error. No JVM is started.

    \b
    Example:
      tidegate compile
      tidegate compile --watch
      tidegate compile --against main
      tidegate compile --explain UnknownDependency
    """
    if explain is not None:
        return _explain(invocation, explain)
    if watch:
        return _watch(invocation, variables, against)
    done = compile_workspace(open_workspace(invocation), variables, against)
    invocation.output().show(done.document(), lambda: _lines(invocation, done))
    return done.exit_code


def _lines(invocation: Invocation, done: Compilation) -> Iterator[str]:
    diagnostics = done.errors if invocation.quiet else done.diagnostics
    yield from render_diagnostics(diagnostics, done.root, invocation.painter(sys.stdout))
    took = f"{done.seconds:.2f} s" if done.seconds >= 0.1 else f"{round(done.seconds * 1000)} ms"
    yield f"{plural(done.models, 'model')}, {count_line(done.diagnostics) or 'no errors'} in {took}"


def _explain(invocation: Invocation, code: str) -> int:
    kind = explain_diagnostic(code)

    def lines(paint: Paint) -> Iterator[str]:
        yield f"{paint(f'{kind.severity}[{kind.code}]', kind.severity)}: {kind.summary}"
        yield ""
        yield kind.why
        yield f"{paint('fix:', 'help')} {kind.fix}"

    invocation.output().show(asdict(kind), lambda: lines(invocation.painter(sys.stdout)))
    return 0


def _watch(invocation: Invocation, variables: Mapping[str, str], against: str | None) -> int:
    from tidegate.cli.project_watch import WatchedPaths, watch_project  # only here: it takes 50 ms to load
    from tidegate.config.settings_file import FILE_NAME, find_project
    from tidegate.operations.compile import PROJECT_FOLDERS

    if invocation.project is None and invocation.config is None:
        invocation.project = find_project(invocation.root)
    root = invocation.root.absolute()
    folders, file = tuple(root / name for name in PROJECT_FOLDERS), invocation.config or root / FILE_NAME
    contracts, landing = _set_folders(invocation) or (root / "contracts", root / "landing")
    # Before the first compilation, so that a save during it is not missed.
    changes = watch_project(lambda: WatchedPaths((*folders, contracts), (file,), landing))
    try:
        while True:
            _compile_once(invocation, variables, against)
            contracts, landing = _set_folders(invocation) or (contracts, landing)
            changed = sorted(next(changes))
            if not invocation.json:
                print(f"\n{_name_list(changed, root)} changed\n", flush=True)
    except KeyboardInterrupt:
        if not invocation.json:
            print()
        return 0


def _set_folders(invocation: Invocation) -> tuple[Path, Path] | None:
    """Of contracts and landing zones, which may be anywhere; None where the settings cannot be read."""
    with suppress(TidegateError):
        settings = open_workspace(invocation).settings
        return settings.contracts.location, settings.landing.root
    return None


def _compile_once(invocation: Invocation, variables: Mapping[str, str], against: str | None) -> None:
    """Show one compilation, or why there is none."""
    try:
        done = compile_workspace(open_workspace(invocation), variables, against)
        document, lines = done.document(), _lines(invocation, done)
    except TidegateError as error:
        document, lines = error_document(error), error_lines(error, invocation.root, invocation.painter(sys.stdout))
    invocation.stream().show(document, lambda: lines)
    sys.stdout.flush()


def _name_list(changed: list[str], root: Path) -> str:
    names = [path.removeprefix(f"{root}/") for path in changed[:_MOST_NAMED]]
    remaining = len(changed) - _MOST_NAMED
    return ", ".join(names) + (f" and {remaining} more" if remaining > 0 else "")
