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
from tidegate.config.settings_file import FILE_NAME

if TYPE_CHECKING:
    from tidegate.config import Settings
    from tidegate.operations.contract_tools.contract_validation import ContractValidation

__all__ = ["contract"]


@click.group()
@common_options
def contract() -> None:
    """Validate, scaffold and document data contracts (ODCS).

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
    # Only here: the standard takes a while to load.
    from tidegate.operations.contract_tools.contract_validation import project_contracts, validate_contracts

    settings = _settings(invocation) if files else open_workspace(invocation).settings
    root = settings.root if settings and not files else invocation.root.absolute()
    found = [file.absolute() for file in files] or (project_contracts(settings) if settings else [])
    done = validate_contracts(root, found, settings.contracts.files_root if settings else None)
    invocation.output().show(done.document(), lambda: _lines(invocation, done))
    return done.exit_code


@contract.command()
@click.argument("origin", metavar="FILE|TABLE")
@click.option("--connector", metavar="NAME", help="How the source is read, such as rest (default: what fits).")
@click.option("--key", "keys", multiple=True, metavar="COLUMN", help="A column of the primary key; may be repeated.")
@click.option("--name", metavar="NAME", help="The name of the tables (default: that of the file or table).")
@click.option(
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="The file to write, - for stdout (default: NAME.odcs.yml in the folder of the contracts).",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it is there.")
@common_options
@pass_invocation
def scaffold(
    invocation: Invocation,
    origin: str,
    connector: str | None,
    keys: tuple[str, ...],
    name: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Write a first contract from a data file or a table, to be completed.

    A CSV, JSON or Parquet file gives names and types by a sample of its records; a table of the lake, or a table of
    a source as source.schema.table, gives those it declares. What is written is valid; read it before it is used.

    \b
    Example:
      tidegate contract scaffold landing/orders/day-1.csv
      tidegate contract scaffold erp.dbo.orders --connector sqlserver --output contracts/erp/orders.odcs.yml
    """
    invocation.command = "contract scaffold"
    from tidegate.operations.contract_tools.contract_scaffold import scaffold_from
    from tidegate.operations.contract_tools.written_file import write_file

    settings = _settings(invocation)
    written = scaffold_from(origin, settings, connector, keys, name)
    if str(output) == "-":
        text = written.text.removesuffix("\n")
        invocation.output().show({**written.document(), "file": None, "text": written.text}, lambda: [text])
        return
    folder = settings.contracts.location if settings else invocation.root
    file = output or folder / f"{written.name}.odcs.yml"
    write_file(file, written.text, force)

    def lines() -> Iterator[str]:
        key = ", ".join(written.key) or "none"
        yield f"{file}: {plural(written.columns, 'column')}, key: {key}"
        yield from written.notes
        yield f"Validate it with `tidegate contract validate {file}`."

    invocation.output().show({**written.document(), "file": str(file), "text": written.text}, lines)


@contract.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="The file to write (default: stdout).")
@click.option("--html", is_flag=True, help="Write a page of HTML instead of Markdown.")
@click.option("--force", is_flag=True, help="Overwrite the file if it is there.")
@common_options
@pass_invocation
def docs(invocation: Invocation, file: Path, output: Path | None, html: bool, force: bool) -> None:
    """Write a page about a contract for those who read its tables.

    \b
    Example:
      tidegate contract docs contracts/orders.odcs.yml --output docs/orders.md
    """
    invocation.command = "contract docs"
    from tidegate.operations.contract_tools.contract_docs import contract_page
    from tidegate.operations.contract_tools.written_file import write_file

    page = contract_page(file, html)
    if output is not None:
        write_file(output, page, force)
    document = {"file": str(output) if output else None, "format": "html" if html else "markdown", "text": page}
    invocation.output().show(document, lambda: [str(output) if output else page.removesuffix("\n")])


def _settings(invocation: Invocation) -> Settings | None:
    """None where there is no project, which a file by name does not need."""
    start = invocation.root.absolute()
    in_project = any((folder / FILE_NAME).is_file() for folder in (start, *start.parents))
    return open_workspace(invocation).settings if in_project or invocation.config else None


def _lines(invocation: Invocation, done: ContractValidation) -> Iterator[str]:
    yield from render_diagnostics(done.diagnostics, done.root, invocation.painter(sys.stdout))
    if not invocation.quiet:
        for report in done.contracts:
            if not report.diagnostics:
                stages = f"valid for {', '.join(report.stages)}" if report.stages else "valid"
                yield f"{report.file}: {stages}"
    yield f"{plural(len(done.contracts), 'contract')}, {count_line(done.diagnostics) or 'no errors'}"
