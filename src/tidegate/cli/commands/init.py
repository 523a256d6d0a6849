"""`init`: the smallest project that runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from tidegate.cli.context import Invocation, common_options, pass_invocation
from tidegate.operations.new_project import write_project

__all__ = ["init"]


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@common_options
@pass_invocation
def init(invocation: Invocation, folder: Path) -> None:
    """Write an empty project that runs.

    \b
    Example:
      tidegate init shop
    """
    written = write_project(folder)

    def lines() -> Iterator[str]:
        yield f"A new project in {folder}:"
        yield from (f"  {name}" for name in written)
        yield ""
        yield "Next:" if folder.resolve() == Path.cwd() else f"Next: cd {folder}, then"
        yield "  tidegate run                    builds silver.tides on a branch and publishes it"
        yield "  tidegate preview silver.tides   shows its rows"

    invocation.output().show({"project": str(folder.resolve()), "files": list(written)}, lines)
