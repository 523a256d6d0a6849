"""What an append_only model does not take of its inputs, or may take twice, in words for the plan and the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.compiler.values import BoundQuery
from tidegate.lake.changes import TableChange, Untraceable
from tidegate.planner.inputs import Inputs
from tidegate.planner.row_keys import is_enforced

__all__ = ["Caution", "append_cautions", "repeated_keys_warning"]

_AGAIN = "a row whose values differ from all that were there is appended, also where it is the update of one"
_FOLLOW = "To follow updates and deletes, make this model incremental with a unique_key."


@dataclass(frozen=True, slots=True)
class Caution:
    """`short` continues the reason of a decision; `warning` says what it means and what to do; empty: nothing is to."""

    short: str
    warning: str = ""


def append_cautions(inputs: Inputs, bound: Callable[[], BoundQuery] | None) -> tuple[Caution, ...]:
    """One for each table whose rows become rows of the result, and that did more than gain rows."""
    suspects = [name for name, found in sorted(inputs.changed.items()) if _did_more(found) and name in inputs.metadata]
    if not suspects:
        return ()
    driving = {str(read.table) for read in bound().reads if read.driving} if bound else set(suspects)
    return tuple(_of_table(inputs, name) for name in suspects if name in driving)


def _did_more(found: TableChange | Untraceable) -> bool:
    return found.rebuilt or found.rolled_back if isinstance(found, Untraceable) else not found.insert_only


def _of_table(inputs: Inputs, name: str) -> Caution:
    table, found, key = inputs.short(name), inputs.changed[name], inputs.keys.get(name, ())
    by_key = f"A row is new where no row had its key ({', '.join(key)}) when {table} was read last"
    if not is_enforced(inputs.metadata[name], key):
        by_key += ", and rows that share a key, which nothing enforces there, are compared by all their values"
    if isinstance(found, Untraceable) and found.rolled_back:
        rule = by_key if key else f"All its rows were compared with those that were read: {_AGAIN}"
        return Caution(
            f"its rows are compared with those that were read{_by(key)}",
            f"{table} was rolled back. {rule}. Rows that were appended before stay. To hold only what {table} has now, "
            "run this model with --full-refresh.",
        )
    if isinstance(found, Untraceable) and key:
        return Caution(f"its rows are compared with those that were read{_by(key)}")
    if key or (isinstance(found, TableChange) and not found.may_delete):
        rule = f" {by_key}." if key else ""
        return Caution(
            f"rows updated or deleted in {table} are not taken",
            f"rows of {table} were updated or deleted, which append_only does not take.{rule} {_FOLLOW}",
        )
    return Caution(
        f"{table} has no key: rows that were replaced by others are taken as new",
        f"rows of {table} were deleted or written again, and it has no key by which they could be recognised: "
        f"{_AGAIN}. Declare @unique_key in {table}, so that a row with a known key is not new. {_FOLLOW}",
    )


def repeated_keys_warning(table: str, key: Sequence[str], count: int) -> str:
    """`count` keys that were declared, or proven once, have several rows in a state of the table that was compared."""
    columns, keys = ", ".join(key), f"{count:,} {'key has' if count == 1 else 'keys have'}"
    rule = f"primary_key({columns})" if len(key) == 1 else f"composite_unique('{columns}')"
    return (
        f"the key ({columns}) of {table} does not tell its rows apart: {keys} more than one row, now or when {table} "
        f"was read last. Rows of such keys were compared by all their values: "
        f"{_AGAIN}. Set @unique_key in {table} to columns that are unique together; @constraint: {rule} keeps a table "
        "in which they are not from being published."
    )


def _by(key: tuple[str, ...]) -> str:
    return f" by their key ({', '.join(key)})" if key else ""
