"""The write strategies: what each one is to the rooms that compile, plan, write and check.

A room asks for a fact of `ModelSettings.traits` and never for a strategy by its name. The writers are listed in
`tidegate.write`, and docs/strategies.md shows this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["CONTRACT_STRATEGIES", "DEFAULT_STRATEGY", "STRATEGIES", "Deltas", "Strategy", "StrategyTraits"]


class Strategy(StrEnum):
    FULL_REFRESH = "full_refresh"
    INCREMENTAL = "incremental"
    APPEND_ONLY = "append_only"
    DELETE_INSERT = "delete_insert"
    SCD2 = "scd2"
    SNAPSHOT = "snapshot"
    TRACKED = "tracked"
    TIME_INTERVAL = "time_interval"
    CURRENT_STATE = "current_state"


class Deltas(StrEnum):
    """Which changes of its inputs are enough to bring a table up to date."""

    NONE = "none"
    INSERTED = "inserted rows"
    CHANGES = "all changes"


@dataclass(frozen=True, slots=True)
class StrategyTraits:
    summary: str
    """What it does to the table, in words."""

    refused_key: str
    """What the table has of a key whose row was refused by a quarantine, in words."""

    deltas: Deltas
    """Which changes of its inputs are enough to bring the table up to date, instead of all rows."""

    key_setting: str | None = None
    """The setting that names its key."""

    required_settings: tuple[str, ...] = ()
    """Settings that a model must have. The first names the columns by which rows are found and replaced."""

    complete_result: bool = False
    """A result of everything there is lacks only what is gone: its keys are deleted, or their versions closed."""

    keeps_history: bool = False
    """The table cannot be computed again from its inputs: only `--full-refresh` rebuilds it."""

    never_rereads: bool = False
    """A changed definition applies to what comes, and does not read once more what was read before."""

    replaces_table: bool = False
    """The result takes the place of the table, with its columns and types; deletes need no permission."""

    replaces_partitions: bool = False
    """The table is partitioned by `partition_column`, and the partitions that the result has are replaced."""

    by_intervals: bool = False
    """Each interval of `time_column` is computed and replaced on its own; the query has its start and end."""

    reads_all_files: bool = False
    """Every run reads all files of a landing zone, not only the new ones."""

    merges_by_key: bool = False
    """The table has one row for each key: of several in the result, one is taken."""

    key_identifies_rows: bool = False
    """The columns of the key tell the rows of the table apart, enforced or declared."""

    enforces_key: bool = False
    """The writer never leaves two rows with one key in the table."""

    keeps_versions: bool = False
    """The table has columns for the time in which a row was valid, and one row that is current for each key."""

    keeps_arrival_order: bool = False
    """Rows are added in the order of their arrival and stay as they are, so readers can take the newest."""

    holds_result_as_is: bool = False
    """The table holds each row of the result: what is unique in the result is unique in the table."""

    writes_rows_as_they_come: bool = False
    """Each row of the result is written, so that written rows can be counted against the result."""

    takes_touched_keys: bool = False
    """A result may name keys and the rows that they have from now on: a key that it names without a row is deleted."""

    gains_from_differences: bool = False
    """For such a reader a table that is computed whole may be written as the rows that differ."""

    contracts_only: bool = False
    """Only the silver table of a contract is written so: its rows carry `_commit_time` and `_sequence`."""

    applies_deletes: bool = False
    """Rows of a contract that say that their key is deleted are applied; other strategies leave them out."""

    contract_word: str = ""
    """What a contract calls it, as its `silver_write_strategy`."""

    unstable_rows: str = ""
    """What it does, in words, to each row where the query never gives the same rows twice."""

    @property
    def key_required(self) -> bool:
        """Rows are found by the key: NULL in it fails, and so does a model without one."""
        return self.key_setting in self.required_settings


STRATEGIES: Mapping[str, StrategyTraits] = {
    Strategy.FULL_REFRESH: StrategyTraits(
        summary="replaces it with the result",
        refused_key="the table has no row of it",
        deltas=Deltas.CHANGES,
        key_setting="unique_key",
        complete_result=True,
        replaces_table=True,
        reads_all_files=True,
        key_identifies_rows=True,
        holds_result_as_is=True,
        writes_rows_as_they_come=True,
        gains_from_differences=True,
    ),
    Strategy.INCREMENTAL: StrategyTraits(
        summary="updates rows by `unique_key`, inserts new ones",
        refused_key=(
            "its former row stays as it was, also where the result is complete: a key that is refused is not gone"
        ),
        deltas=Deltas.CHANGES,
        key_setting="unique_key",
        required_settings=("unique_key",),
        complete_result=True,
        merges_by_key=True,
        key_identifies_rows=True,
        enforces_key=True,
        takes_touched_keys=True,
        gains_from_differences=True,
    ),
    Strategy.APPEND_ONLY: StrategyTraits(
        summary=(
            "adds the rows that are new in its inputs, each once: those whose key (`unique_key`, or what the upstream's"
            " query proves) was not there at the last run; without a key, those with new row ids"
            " ([ADR 7](adr/0007-what-an-append-takes.md)). Updates and deletes do not touch it, and `plan` and `run`"
            " warn of them"
        ),
        refused_key="nothing is added",
        deltas=Deltas.INSERTED,
        keeps_history=True,
        never_rereads=True,
        keeps_arrival_order=True,
        writes_rows_as_they_come=True,
        gains_from_differences=True,
        contract_word="append",
    ),
    Strategy.DELETE_INSERT: StrategyTraits(
        summary="deletes the rows whose key is in the result, inserts the result",
        refused_key="the key has the rows that were not refused; where all were, it keeps its former ones",
        deltas=Deltas.CHANGES,
        key_setting="unique_key",
        required_settings=("unique_key",),
        complete_result=True,
        holds_result_as_is=True,
        takes_touched_keys=True,
        gains_from_differences=True,
    ),
    Strategy.SCD2: StrategyTraits(
        summary=(
            "keeps history: closes the version of a key that changed and opens a new one"
            " (`valid_from`, `valid_to`, `is_current`)"
        ),
        refused_key="its open version stays open",
        deltas=Deltas.CHANGES,
        key_setting="unique_key",
        required_settings=("unique_key",),
        complete_result=True,
        keeps_history=True,
        keeps_versions=True,
        applies_deletes=True,
        contract_word="history",
        unstable_rows="makes a new version of",
    ),
    Strategy.SNAPSHOT: StrategyTraits(
        summary="replaces the partitions of `partition_column` that the result has",
        refused_key="the partition has the rows that were not refused; where all were, it stays as it was",
        deltas=Deltas.NONE,
        required_settings=("partition_column",),
        keeps_history=True,
        never_rereads=True,
        replaces_partitions=True,
        contract_word="snapshot",
    ),
    Strategy.TRACKED: StrategyTraits(
        summary="replaces the groups of `group_key` whose content differs, deletes those that are gone",
        refused_key="the key has the rows that were not refused; where all were, it keeps its former ones",
        deltas=Deltas.CHANGES,
        key_setting="group_key",
        required_settings=("group_key",),
        complete_result=True,
        holds_result_as_is=True,
        gains_from_differences=True,
        unstable_rows="writes again",
    ),
    Strategy.TIME_INTERVAL: StrategyTraits(
        summary=(
            "replaces one interval of `time_column` at a time: the missing ones, or `--from`/`--to`; the query filters"
            " by `@start_date` and `@end_date` (the end is not included)"
        ),
        refused_key=(
            "the interval has the rows that were not refused. A refused row without a time is quarantined with each"
            " interval whose result has it"
        ),
        deltas=Deltas.NONE,
        required_settings=("time_column", "first_partition"),
        by_intervals=True,
        writes_rows_as_they_come=True,
    ),
    Strategy.CURRENT_STATE: StrategyTraits(
        summary=(
            "has the newest state of each key by `_commit_time` and `_sequence`, and applies deletions; only for the"
            " silver table of a contract, as its `silver_write_strategy`"
        ),
        refused_key="its former row stays as it was: a key that is refused is not deleted",
        deltas=Deltas.INSERTED,
        key_setting="unique_key",
        required_settings=("unique_key",),
        key_identifies_rows=True,
        enforces_key=True,
        contracts_only=True,
        applies_deletes=True,
        contract_word="current_state",
    ),
}

CONTRACT_STRATEGIES = {
    traits.contract_word: Strategy(name) for name, traits in STRATEGIES.items() if traits.contract_word
}
"""By what a contract calls them."""

DEFAULT_STRATEGY = Strategy.FULL_REFRESH
"""Of a model that names none; a view has it too."""
