"""`chunks`: large raw files loaded piece by piece; each job also under the name that schedulers know it by."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from tidegate.amounts import plural, size, timestamp
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation, worker_option
from tidegate.cli.terminal import WIDEST_CELL, OutputLine, TextTable, cut_cells, is_terminal

if TYPE_CHECKING:
    from tidegate.chunks.requeued_files import RequeuedFile
    from tidegate.cli.chunk_progress import ChunkProgressBar
    from tidegate.operations.chunks.jobs import ChunkResult, FailedWork, LoadsResult, ProcessResult
    from tidegate.operations.chunks.rejected_rows import RejectedRows
    from tidegate.operations.chunks.status import ChunkStatus, FileStatus

__all__ = ["chunk_bronze", "chunks", "list_bronze_errors", "load_bronze", "process_bronze"]

_source_option = click.option("--source", metavar="NAME", help="Only this source of [chunks.sources].")
_FEWEST_NOTES = 5


@click.group()
@common_options
def chunks() -> None:
    """Load large raw files piece by piece: chunk, process, load.

    \b
    Example:
      tidegate chunks chunk && tidegate chunks process && tidegate chunks load
    """


def _bar(invocation: Invocation) -> AbstractContextManager[ChunkProgressBar | None]:
    if not is_terminal(sys.stderr) or invocation.quiet or invocation.json:
        return nullcontext()
    from tidegate.cli.chunk_progress import ChunkProgressBar  # only where it is shown

    return ChunkProgressBar(sys.stderr, color=not invocation.no_color)


def _nothing(progress: object) -> None:
    pass


def _chunk(invocation: Invocation, source: str | None) -> int:
    from tidegate.operations.chunks.jobs import chunk  # only here: it imports what reads files

    workspace = open_workspace(invocation)
    with _bar(invocation) as bar:
        result = chunk(workspace, source, bar.chunking if bar is not None else _nothing)
    invocation.output().show(result.document(), lambda: _chunk_lines(result))
    return result.exit_code


def _chunk_lines(result: ChunkResult) -> Iterator[OutputLine]:
    for file in result.files:
        parent = file.parent
        parts = [plural(parent.n_chunks, "chunk")]
        if file.rows is None:
            parts.append("finished what an earlier call had begun")
        else:
            parts.append(plural(file.rows, "row"))
        if parent.metrics.failed and (parent.end_timestamp is None or not parent.n_chunks):
            parts.append(f"{plural(parent.metrics.failed, 'record')} cannot be read")
        rate = f", {int(file.rows / file.seconds):,} rows/s" if file.rows and file.seconds >= 1 else ""
        yield f"{file.raw_file}: {', '.join(parts)}{rate}"
    for unclaimed in result.unclaimed[:_FEWEST_NOTES]:
        yield f"{unclaimed.path} is left alone: {unclaimed.reason}; {unclaimed.remedy}"
    if len(result.unclaimed) > _FEWEST_NOTES:
        yield f"… and {len(result.unclaimed) - _FEWEST_NOTES} more; `tidegate chunks status` lists them"
    yield from _failure_lines(result.failures)
    if not result.files and not result.failures:
        yield "No raw file waits to be chunked."


def _failure_lines(failures: list[FailedWork]) -> Iterator[OutputLine]:
    for failure in failures:
        what = "" if failure.what in str(failure.error) else f"{failure.what}: "
        yield f"failed: {what}{failure.error}"
        yield from (f"  {problem}" for problem in getattr(failure.error, "problems", ()))
        if failure.error.remedy:
            yield f"  {failure.error.remedy}"


def _process(invocation: Invocation, source: str | None) -> int:
    from tidegate.operations.chunks.jobs import process  # only here, as above

    workspace = open_workspace(invocation)
    output = invocation.output()
    with _bar(invocation) as bar:
        result = process(workspace, source, bar.processing if bar is not None else _nothing, output.note)
    output.show(result.document(), lambda: _process_lines(result))
    return result.exit_code


def _process_lines(result: ProcessResult) -> Iterator[OutputLine]:
    rejected = 0
    for run in result.runs:
        name = run.parent_metadata_s3_path.split("/")[2]
        metrics = run.metrics
        rejected += metrics.failed
        yield (
            f"{run.data_source}/{name}: {plural(run.chunks, 'chunk')}, {plural(metrics.success, 'valid row')}, "
            f"{plural(metrics.failed, 'rejected row')}"
        )
    if rejected:
        yield "`tidegate chunks errors` shows rejected rows with their reasons."
    for name, asked in result.not_evaluated.items():
        yield f"{name}: not evaluated: {', '.join(asked)}"
    yield from (f"warning: {warning}" for warning in result.warnings)
    yield from _failure_lines(result.failures)
    if not result.runs and not result.failures and not result.warnings:
        yield "No chunk waits to be processed."


def _load(invocation: Invocation, source: str | None) -> int:
    from tidegate.operations.chunks.jobs import load  # only here, as above

    workspace = open_workspace(invocation)
    output = invocation.output()
    with _bar(invocation) as bar:
        result = load(workspace, source, bar.loading if bar is not None else _nothing, output.note)
    output.show(result.document(), lambda: _load_lines(result))
    return result.exit_code


def _load_lines(result: LoadsResult) -> Iterator[OutputLine]:
    for done in result.loads:
        if done.status == "busy":
            continue
        run = done.parent_path.split("/")[2]
        changes = f"{done.inserted} inserted, {done.updated} updated, {done.unchanged} unchanged"
        if done.repeated:
            changes += f", {done.repeated} replaced by later rows of the same key"
        rest = "" if done.status == "complete" else "; chunks of the file are still to come"
        yield f"{done.table}: {run}: {plural(done.rows, 'row')} in {_batches(done.batches)}: {changes}{rest}"
        yield from (f"{done.table}: {change}" for change in done.drift)
    yield from (f"warning: {warning}" for warning in result.warnings)
    yield from _failure_lines(result.failures)
    if not result.loads and not result.failures:
        yield "No chunk waits to be loaded."


def _batches(count: int) -> str:
    return "1 batch" if count == 1 else f"{count} batches"


def _errors(invocation: Invocation, source: str | None, file: str | None, limit: int, full: bool) -> int:
    from tidegate.operations.chunks.rejected_rows import rejected_rows  # only here, as above

    found = rejected_rows(open_workspace(invocation), source, file, limit)
    invocation.output().show(found.document(), lambda: _error_lines(found, limit, full))
    return 1 if found.problems else 0


_ERROR_COLUMNS = ("source_file", "source_row", "stage", "column", "value", "reason")


def _error_lines(found: RejectedRows, limit: int, full: bool) -> Iterator[OutputLine]:
    cells = [[_cell(row[name]) for name in _ERROR_COLUMNS] for row in found.rows]
    if cells:
        headers = ("file", "row", "stage", "column", "value", "reason")
        yield TextTable(headers, cells, None if full else WIDEST_CELL)
    if found.by_rule:
        counts = [(*(_cell(part) for part in key), f"{rows:,}") for key, rows in found.by_rule.most_common(20)]
        yield TextTable(("source", "stage", "column", "rule", "rows"), counts)
    more = f", {len(found.rows)} shown: see --limit (now {limit})" if found.total > len(found.rows) else ""
    yield f"{plural(found.total, 'rejected row')}{more}"
    if not full and (cut := cut_cells(cells)):
        yield f"{plural(cut, 'value')} cut at {WIDEST_CELL} characters: --full or --json shows all of them."
    yield from (f"warning: {problem}" for problem in found.problems)


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


def _status_lines(status: ChunkStatus) -> Iterator[OutputLine]:
    if status.waiting:
        yield TextTable(
            ("raw file that waits", "source", "size"),
            [(file.path, file.source.name, size(file.size)) for file in status.waiting],
        )
    if status.files:
        headers = (
            "source",
            "raw file",
            "run",
            "state",
            "chunks",
            "to process",
            "to load",
            "valid",
            "rejected",
            "began (UTC)",
        )
        yield TextTable(headers, [_status_cells(file) for file in status.files])
    shown = sum(file.state == "complete" for file in status.files)
    pending = len(status.files) - shown
    complete = f"{plural(status.complete, 'complete file')}"
    if status.complete > shown:
        complete += f", {shown} shown: see --limit"
    yield f"{plural(len(status.waiting), 'raw file')} to chunk, {plural(pending, 'file')} under way, {complete}"
    yield from (f"left alone: {file.path}: {file.reason}" for file in status.unclaimed)
    yield from (f"warning: {problem}" for problem in status.problems)


def _status_cells(file: FileStatus) -> tuple[str, ...]:
    parent, metrics = file.parent, file.metrics
    name = parent.input_raw_file.removeprefix("bronze/")
    return (
        parent.data_source,
        f"{name} (requeued)" if parent.requeued_raw_file else name,
        parent.run_id,
        file.state,
        f"{len(parent.processed_chunks)}/{parent.n_chunks}",
        str(file.to_process),
        str(file.to_load),
        f"{metrics.success:,}",
        f"{metrics.failed:,}",
        timestamp(parent.start_timestamp),
    )


@chunks.command()
@_source_option
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="At most this many complete files."
)
@common_options
@pass_invocation
def status(invocation: Invocation, source: str | None, limit: int) -> int:
    """Show how far each raw file has come: its chunks, rows and errors.

    \b
    Example:
      tidegate chunks status --source orders
    """
    invocation.command = "chunks status"
    from tidegate.operations.chunks.status import chunk_status  # only here, as above

    found = chunk_status(open_workspace(invocation), source, limit)
    invocation.output().show(found.document(), lambda: _status_lines(found))
    return 1 if found.problems else 0


@chunks.command()
@click.argument("raw_file", metavar="FILE")
@common_options
@pass_invocation
def requeue(invocation: Invocation, raw_file: str) -> int:
    """Put an archived raw file into bronze again, for the next `chunks chunk`.

    FILE is the file in the archive, its run, or the path or name that it had in bronze. Rows that the table has already
    are not loaded twice: they are merged by their key, and those that are the same change nothing.

    \b
    Example:
      tidegate chunks requeue bronze/orders/2026-01-31.json
    """
    invocation.command = "chunks requeue"
    from tidegate.operations.chunks.requeue import requeue_file  # only here, as above

    done = requeue_file(open_workspace(invocation), raw_file)
    invocation.output().show(done.document(), lambda: _requeue_lines(done))
    return 0


def _requeue_lines(done: RequeuedFile) -> Iterator[OutputLine]:
    yield f"{done.archived_raw_file} waits as {done.raw_file}; `tidegate chunks chunk` takes it"


def _job(work: Callable[[Invocation, str | None], int], name: str, group_name: str, text: str) -> tuple[Any, Any]:
    """The command of the group, and the one with a name of its own."""

    def of(path: str) -> Any:
        def run(invocation: Invocation, source: str | None) -> int:
            invocation.command = path
            return work(invocation, source)

        run.__doc__ = text.replace("COMMAND", path)
        return run

    def command(path: str, own_name: str) -> Any:
        options = common_options if work is _chunk else lambda run: worker_option(common_options(run))
        return click.command(own_name)(_source_option(options(pass_invocation(of(path)))))

    return command(f"chunks {group_name}", group_name), command(name, name)


_chunk_of_group, chunk_bronze = _job(
    _chunk,
    "chunk-bronze",
    "chunk",
    """Split the raw files of bronze into chunks, and archive them.

    JSON (a list, or a record per line), CSV and Parquet, compressed too. Values stay as they were delivered. Spark is
    not started. A file that cannot be read stays where it is, and the others are chunked.

    \b
    Example:
      tidegate COMMAND --source orders
    """,
)
_process_of_group, process_bronze = _job(
    _process,
    "process-bronze",
    "process",
    """Validate the rows of chunks by the rules of their source.

    Valid rows are typed, and wait to be loaded; rejected ones are put into errors files, with their reasons.

    \b
    Example:
      tidegate COMMAND --source orders
    """,
)
_load_of_group, load_bronze = _job(
    _load,
    "load-bronze",
    "load",
    """Merge processed chunks into the tables of their sources, by their keys.

    Several chunks are merged at once. A load that was interrupted goes on where it stopped; no row is lost or counted
    twice.

    \b
    Example:
      tidegate COMMAND --source orders
    """,
)
for _command in (_chunk_of_group, _process_of_group, _load_of_group):
    chunks.add_command(_command)


def _errors_command(name: str, path: str) -> Any:
    def run(invocation: Invocation, source: str | None, file: str | None, limit: int, full: bool) -> int:
        invocation.command = path
        return _errors(invocation, source, file, limit, full)

    run.__doc__ = f"""Show rejected rows of chunked loads, with their reasons.

    Newest files first. A row that breaks several rules is shown with the first; --json has all of them, and the row.

    \b
    Example:
      tidegate {path} --source orders --limit 50
    """
    command: Any = common_options(pass_invocation(run))
    command = click.option("--full", is_flag=True, help="Show long values whole.")(command)
    command = click.option(
        "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="At most this many rows."
    )(command)
    command = click.option("--file", metavar="FILE", help="Only rows of this raw file: its path, its name or its run.")(
        command
    )
    return click.command(name)(_source_option(command))


_errors_of_group, list_bronze_errors = (
    _errors_command("errors", "chunks errors"),
    _errors_command("list-bronze-errors", "list-bronze-errors"),
)
chunks.add_command(_errors_of_group)
