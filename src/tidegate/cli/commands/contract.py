"""`contract`: data contracts, without a JVM."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.amounts import plural
from tidegate.cli.error_text import render_diagnostics
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation
from tidegate.compiler.compiled import count_line

if TYPE_CHECKING:
    from tidegate.operations.contract import ContractValidation

__all__ = ["contract"]


@click.group()
@common_options
def contract() -> None:
    """Validate data contracts (ODCS).

    \b
    Example:
      tidegate contract validate
    """


@contract.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@common_options
@pass_invocation
def validate(invocation: Invocation, files: tuple[Path, ...]) -> int:
    """Report everything that is wrong with contracts; nothing is read from a source.

    Without FILE every *.odcs.yml of the project is validated; with it no project is needed. A contract must follow the
    Open Data Contract Standard, v3.0 to v3.2. One whose object has a `connector` is validated for landing, bronze
    and silver as well, one with a `generator_notebook` for gold. Ends with 1 if one is not valid.

    \b
    Example:
      tidegate contract validate
      tidegate contract validate contracts/orders.odcs.yml
    """
    invocation.command = "contract validate"
    settings = None if files else open_workspace(invocation).settings
    root = invocation.root.absolute() if settings is None else settings.root
    # Only here: the standard takes a while to load.
    from tidegate.operations.contract import project_contracts, validate_contracts

    found = [file.absolute() for file in files]
    if settings is not None:
        found = project_contracts(root, settings.contracts.location)
    done = validate_contracts(root, found)
    invocation.output().show(done.document(), lambda: _lines(invocation, done))
    return done.exit_code


def _lines(invocation: Invocation, done: ContractValidation) -> Iterator[str]:
    yield from render_diagnostics(done.diagnostics, done.root, invocation.painter(sys.stdout))
    if not invocation.quiet:
        for report in done.contracts:
            if not report.diagnostics:
                stages = f"valid for {', '.join(report.stages)}" if report.stages else "valid"
                yield f"{report.file}: {stages}"
    yield f"{plural(len(done.contracts), 'contract')}, {count_line(done.diagnostics) or 'no errors'}"
