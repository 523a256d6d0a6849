"""`diff`: what a run or a branch changed, row by row."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import click

from tidegate.amounts import plural
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation, worker_option
from tidegate.cli.terminal import Paint, clean
from tidegate.jsontext import json_text, json_value
from tidegate.operations.diff.run_diff import Diff
from tidegate.operations.diff.run_diff import diff as diff_run
from tidegate.operations.diff.table_diff import RowChange, TableDiff

__all__ = ["diff", "diff_lines"]


@click.command()
@click.argument("name", metavar="RUN|BRANCH")
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@click.option(
    "--limit", type=click.IntRange(min=0), default=5, show_default=True, help="Sample rows of each kind and table."
)
@worker_option
@common_options
@pass_invocation
def diff(invocation: Invocation, name: str, tables: tuple[str, ...], limit: int) -> None:
    """Show which rows a run or a branch inserted, updated and deleted.

    RUN is the id of a run (`latest`: the newest, also one that changed nothing or failed), BRANCH one that
    `run --no-publish` kept. TABLE names tables to look at; without it, all that changed. Nothing is changed.

    \b
    Example:
      tidegate diff latest silver.orders
    """
    workspace = open_workspace(invocation)
    output = invocation.output()
    result = diff_run(workspace.settings, name, tables, limit, notify=output.note)
    output.show(result.document(), lambda: diff_lines(result, limit, invocation.painter(sys.stdout)))
    if name == "latest" and not result.tables:
        output.note("`latest` is the newest run, whatever its result: `tidegate history` lists the ones before.")


_SIGNS = {"inserted": ("+", "help"), "updated": ("~", "warning"), "deleted": ("-", "error")}
_WIDEST_VALUE, _WIDEST_LINE = 40, 150


def diff_lines(result: Diff, limit: int, paint: Paint) -> Iterator[str]:
    if not result.tables:
        yield f"{result.of.capitalize()} {result.name} changed no table."
        return
    moved = [table for table in result.tables if not table.silent]
    yield f"{result.of.capitalize()} {result.name} changed {plural(len(moved), 'table')}."
    width = max(len(table.table) for table in result.tables)
    for table in result.tables:
        yield ""
        yield f"{paint(f'{table.table:<{width}}', 'strong')}  {'  '.join(_facts(table, paint))}"
        for sample in table.samples:
            yield _sample(sample, table, paint)
        yield from _more_lines(table, limit, paint)


def _facts(table: TableDiff, paint: Paint) -> Iterator[str]:
    if table.change in ("dropped", "expired", "view"):
        yield paint(table.note or table.change, "quiet")
        if table.deleted:
            yield paint(f"-{plural(table.deleted, 'row')}", "error")
        return
    if table.change == "new":
        yield f"new table{f' ({table.note})' if table.note else ''}"
    whole = table.matched_by == "rows"
    if table.inserted:
        yield paint(f"+{table.inserted} {'only after' if whole else 'inserted'}", "help")
    if table.updated:
        names = f" ({', '.join(table.columns)})" if table.columns else ""
        yield paint(f"~{table.updated} updated", "warning") + names
    if table.deleted:
        yield paint(f"-{table.deleted} {'only before' if whole else 'deleted'}", "error")
    yield from _shape(table)
    if table.silent:
        yield paint("written again, no row differs", "quiet")
    elif whole:
        yield paint("rewritten without a unique_key: rows are compared whole", "quiet")
    if table.change == "recreated":
        yield paint(table.note, "quiet")


def _shape(table: TableDiff) -> Iterator[str]:
    parts = [f"+{name}" for name in table.columns_added]
    parts += [f"-{name}" for name in table.columns_dropped]
    parts += [f"{before} → {after}" for before, after in table.columns_renamed.items()]
    if parts:
        yield f"columns: {', '.join(parts)}"


def _sample(change: RowChange, table: TableDiff, paint: Paint) -> str:
    sign, role = _SIGNS[change.kind]
    if change.kind != "updated" or change.before is None or change.after is None:
        row = change.after if change.after is not None else change.before or {}
        return f"  {paint(sign, role)} {_cut(_values(row, row), _WIDEST_LINE)}"
    renamed = {after: before for before, after in table.columns_renamed.items()}
    same = [name for name in change.after if name not in change.columns]
    key_columns = table.key or tuple(same[:1])
    changed = "  ".join(
        f"{name}: {_value(change.before.get(renamed.get(name, name)))} → {_value(change.after[name])}"
        for name in change.columns
    )
    return f"  {paint(sign, role)} {_cut(f'{_values(change.after, key_columns)}  {changed}'.strip(), _WIDEST_LINE)}"


def _values(row: Mapping[str, Any], names: Any) -> str:
    return "  ".join(f"{name}={_value(row.get(name))}" for name in names)


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    plain = json_value(value)
    return _cut(clean(plain if isinstance(plain, str) else json_text(plain)), _WIDEST_VALUE)


def _cut(text: str, widest: int) -> str:
    return text if len(text) <= widest else text[: widest - 1] + "…"


def _more_lines(table: TableDiff, limit: int, paint: Paint) -> Iterator[str]:
    if not table.samples:
        return
    samples = Counter(sample.kind for sample in table.samples)
    counts = {"inserted": table.inserted, "updated": table.updated, "deleted": table.deleted}
    more = [f"{counts[kind] - samples[kind]} more {kind}" for kind in _SIGNS if 0 < samples[kind] < counts[kind]]
    if more:
        yield paint(f"  … and {', '.join(more)}: see --limit (now {limit})", "quiet")
