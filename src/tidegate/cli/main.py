"""The program `tidegate`: finds the command, runs it, and turns whatever goes wrong into one clear message."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import NamedTuple, NoReturn

import click

from tidegate import __version__
from tidegate.cli.invocation import Invocation, common_options
from tidegate.errors import RunCancelledError, TidegateError
from tidegate.faults import check_faults
from tidegate.names import nearest
from tidegate.redaction import RedactingStream

__all__ = ["COMMANDS", "cli", "main", "run_cli"]


_signals: list[int] = []
"""Those that requested that this process end."""


class CommandEntry(NamedTuple):
    """`module` is relative to this package."""

    module: str
    attribute: str
    help: str


# The help lines are repeated here so that `tidegate --help` need not import the commands; a test compares them.
COMMANDS = {
    "demo": CommandEntry(
        "commands.new_project", "demo", "Write a sample project, run it twice, and show what happened."
    ),
    "init": CommandEntry("commands.new_project", "init", "Write an empty project that runs."),
    "compile": CommandEntry(
        "commands.compile", "compile_", "Report everything that is wrong with the project; nothing is run."
    ),
    "plan": CommandEntry("commands.plan", "plan", "Show what would run and why; nothing is run."),
    "run": CommandEntry("commands.run", "run", "Build models on a branch, check them, and publish them in one step."),
    "publish": CommandEntry(
        "commands.run",
        "publish",
        "Publish a branch that `run --no-publish` kept, then check the warnings of its tables.",
    ),
    "check": CommandEntry("commands.check", "check", "Check the published tables; nothing is built or changed."),
    "ls": CommandEntry("commands.models", "ls", "List the models of the project."),
    "show": CommandEntry("commands.models", "show", "Show one model: settings, table, upstreams, runs and checks."),
    "lineage": CommandEntry("commands.lineage", "lineage", "Show where columns come from, or what is built from them."),
    "sql": CommandEntry("commands.query", "sql", "Run one read-only query over the published tables."),
    "preview": CommandEntry("commands.query", "preview", "Show the first rows of a published table."),
    "profile": CommandEntry(
        "commands.query",
        "profile",
        "Show rows, NULLs, different values, least, greatest and mean of a table.",
    ),
    "diff": CommandEntry("commands.diff", "diff", "Show which rows a run or a branch inserted, updated and deleted."),
    "test": CommandEntry(
        "commands.test", "test", "Run the unit tests of models on given rows; the lake is not touched."
    ),
    "history": CommandEntry("commands.history", "history", "List past runs, newest first."),
    "logs": CommandEntry("commands.history", "logs", "Show everything that one run did, in order."),
    "cancel": CommandEntry(
        "commands.cancel",
        "cancel",
        "End a run of another terminal or machine, and wait until it has ended.",
    ),
    "branches": CommandEntry("commands.lake", "branches", "List the branches of the lake and what they changed."),
    "maintain": CommandEntry(
        "commands.lake", "maintain", "Compact small files, expire old snapshots, sweep unused files."
    ),
    "reap": CommandEntry(
        "commands.lake", "reap", "Fail runs whose process is gone, and drop branches that no process uses."
    ),
    "chaos": CommandEntry(
        "commands.chaos",
        "chaos",
        "Kill the project's run at its fault points, on a copy of its lake, and check that nothing is lost.",
    ),
    "ingest": CommandEntry(
        "commands.ingest", "ingest", "Land what is new in the source of CONTRACT; no table is built."
    ),
    "chunks": CommandEntry("commands.chunks", "chunks", "Load large raw files piece by piece: chunk, process, load."),
    "chunk-bronze": CommandEntry(
        "commands.chunks", "chunk_bronze", "Split the raw files of bronze into chunks, and archive them."
    ),
    "process-bronze": CommandEntry(
        "commands.chunks", "process_bronze", "Validate the rows of chunks by the rules of their source."
    ),
    "load-bronze": CommandEntry(
        "commands.chunks", "load_bronze", "Merge processed chunks into the tables of their sources, by their keys."
    ),
    "list-bronze-errors": CommandEntry(
        "commands.chunks", "list_bronze_errors", "Show rejected rows of chunked loads, with their reasons."
    ),
    "contract": CommandEntry("commands.contract", "contract", "Validate, scaffold and document data contracts (ODCS)."),
    "quarantine": CommandEntry(
        "commands.refused_rows", "quarantine", "Show refused rows and why; replay or waive them."
    ),
    "worker": CommandEntry(
        "commands.worker", "worker", "Show or stop the process that holds Spark for the project's next command."
    ),
    "hooks": CommandEntry("commands.hooks", "hooks", "Try out the hooks of the project."),
    "doctor": CommandEntry(
        "commands.doctor", "doctor", "Check this machine and this project, and report how to fix them."
    ),
    "completion": CommandEntry(
        "shell_completion",
        "completion",
        "Print the script that completes commands, options, models and runs in your shell.",
    ),
}


def _instead(name: str) -> str:
    """The rest of the sentence that there is no such command."""
    from tidegate.cli.dbt_hints import COMMANDS_ELSEWHERE

    if hint := COMMANDS_ELSEWHERE.get(name):
        return f": {hint}."
    close = nearest(name, COMMANDS)
    return f". Did you mean {' or '.join(close)}?" if close else "."


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            raise click.UsageError(f"There is no command '{cmd_name}'{_instead(cmd_name)}", ctx)
        command = getattr(import_module(f"tidegate.cli.{entry.module}"), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, "-V", "--version", prog_name="tidegate", message="%(prog)s %(version)s")
@common_options
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Build a lakehouse on a branch, check it, publish every table in one step.

    \b
    Example:
      tidegate init shop && cd shop && tidegate run
    """
    if ctx.invoked_subcommand is None:
        from tidegate.cli.overview import show_overview

        show_overview(ctx.ensure_object(Invocation))


def run_cli(args: Sequence[str]) -> int:
    """Run the command in `args` and return the exit code. Secrets are redacted in everything that is printed."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (RedactingStream(stream) for stream in streams)
    try:
        return _run_command(args)
    finally:
        sys.stdout, sys.stderr = streams


def _run_command(args: Sequence[str]) -> int:
    """Every error ends here."""
    invocation = Invocation.peek(args)
    try:
        check_faults()
        # Not click's own `main`: it takes any broken pipe, also one to the JVM, for a reader that went away.
        with cli.make_context("tidegate", list(args), obj=invocation) as context:
            outcome = cli.invoke(context)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except TidegateError as error:
        return _report(invocation, error, error.exit_code)
    except (KeyboardInterrupt, click.Abort) as interrupt:
        return _cancelled(invocation, interrupt)
    except Exception as error:
        if _signals:  # what it interrupted may have turned it into an error of its own
            return _cancelled(invocation, error)
        if isinstance(error, BrokenPipeError) and _reader_is_gone():
            return 141
        return _report(invocation, error, 1)


def _reader_is_gone() -> bool:
    """Whether stdout has no reader any more; then Python must not fail again when it flushes at exit."""
    poll = select.poll()
    poll.register(sys.stdout, select.POLLOUT)
    gone = any(state & (select.POLLERR | select.POLLHUP) for _stream, state in poll.poll(0))
    if gone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return gone


def _cancelled(invocation: Invocation, interrupt: BaseException) -> int:
    error = RunCancelledError("Cancelled")
    error.__cause__ = interrupt
    return _report(invocation, error, error.exit_code)


def _report(invocation: Invocation, error: Exception, code: int) -> int:
    from tidegate.cli.error_text import report

    report(invocation, error)
    return code


def _interrupt(number: int, frame: FrameType | None) -> None:
    _signals.append(number)
    raise KeyboardInterrupt


def _answer_shell() -> NoReturn:
    """Print the completions that a shell requested. An error prints nothing, so that the prompt stays clean."""
    from tidegate.cli.shell_completion import answer_shell

    with contextlib.suppress(Exception):
        print("\n".join(answer_shell(sys.argv[1:])), flush=True)
    os._exit(0)


def main() -> None:
    # Loading modules makes many objects that stay, and looking among them for garbage takes a tenth of a short command.
    gc.set_threshold(50_000, 20, 20)
    if "_TIDEGATE_COMPLETE" in os.environ:
        _answer_shell()
    if "--debug" not in sys.argv:
        # Py4J logs a traceback to the root logger whenever the JVM is gone, and without a handler Python prints it.
        import logging  # after completion, which must be quick

        logging.getLogger().addHandler(logging.NullHandler())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` leaves it
        signal.signal(signal.SIGHUP, _interrupt)
    try:
        code = run_cli(sys.argv[1:])
    except KeyboardInterrupt:  # another signal, while the report of the first one was written
        code = RunCancelledError.exit_code
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if (processes := sys.modules.get("tidegate.processes")) is not None:
        processes.end_all()
    sys.stdout.flush()
    sys.stderr.flush()
    # An ordinary exit would wait for a thread that still waits for Spark or a webhook, and free piece by piece the
    # memory that the process gives back whole.
    os._exit(code)
