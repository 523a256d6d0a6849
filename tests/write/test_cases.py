"""Every file in tests/cases/write; see case_files.py for what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tidegate import errors
from tidegate.contracts.ingestion import DeletionRules
from tidegate.names import TableName
from tidegate.write import (
    DELETED,
    DeleteRequest,
    DeletionCounts,
    SourceSnapshot,
    Touched,
    WriteOutcome,
    WriteRequest,
    write,
)
from tidegate.write.request import SNAPSHOT
from tidegate.write.strategies import incremental

from .case_files import Block, Case, Step, read_case, split_row
from .conftest import Branch

pytestmark = pytest.mark.spark

_CASES = sorted((Path(__file__).parents[1] / "cases" / "write").glob("*.txt"))
_FIRST_RUN = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("path", _CASES, ids=lambda path: path.stem)
def test_case(path: Path, branch: Branch) -> None:
    _play(path, branch, path.stem)


def _play(path: Path, branch: Branch, name: str) -> None:
    case, table = read_case(path), TableName("shop", "silver", name)
    dropped: Mapping[str, str] = {}
    for number, step in enumerate(case.steps, 1):
        if case.deletion:
            step.flags["deletion"] = _deletion(branch, case, case.steps[:number])
        try:
            dropped = _run(branch, case, table, step, dropped)
        except BaseException as error:
            error.add_note(f"in step {number} of {path.name}")
            raise


def _upserts_a_batch(path: Path) -> bool:
    """A first, complete or rebuilding batch is written in one way, however large the table is."""
    later = read_case(path).steps[1:] if path.stem.startswith("incremental_") else ()
    return any(not step.flags.keys() & {"complete", "rebuild"} for step in later)


@pytest.mark.parametrize("path", list(filter(_upserts_a_batch, _CASES)), ids=lambda path: path.stem)
def test_few_rows_into_a_large_table(path: Path, branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "_LARGE_TABLE", 1)
    _play(path, branch, f"{path.stem}_large")


def _run(branch: Branch, case: Case, table: TableName, step: Step, dropped: Mapping[str, str]) -> Mapping[str, str]:
    before = branch.lake.pointer(table)
    flags = {"run_started_at": _FIRST_RUN, "complete": False, **step.flags}
    if values := flags.pop("touched", None):
        flags["touched"] = _touched(branch, case, step, values)
    result = branch.session.sql(step.query)
    request = WriteRequest(branch.session, branch.lake, table, result, case.settings, dropped_columns=dropped, **flags)
    if error := step.outcome.get("error"):
        with pytest.raises(getattr(errors, error.words[0])) as caught:
            write(request)
        _contains([f"{caught.value} {caught.value.where} {caught.value.remedy}"] * len(error.lines), error)
        outcome = None
    else:
        outcome = write(request)
        _contains(outcome.warnings, step.outcome.get("warning"))
        _same_drift(outcome, step.outcome.get("drift"))
    _same_deletions(outcome, step)
    if outcome is None or "unchanged" in step.outcome:
        assert branch.lake.pointer(table) == before
        assert outcome is None or (outcome.changed, outcome.rows_written, outcome.rows_deleted) == (False, 0, 0)
    if expected := step.outcome.get("expect"):
        _same_table(branch, table, outcome, expected)
    assert not [name for name in branch.lake.heads() if name.name.startswith(f"{table.name}__")]
    assert not branch.session.catalog.tableExists("__tidegate_result")
    return outcome.dropped_columns if outcome else dropped


def _touched(branch: Branch, case: Case, step: Step, values: tuple[str, ...]) -> Touched:
    key = (case.settings.unique_key or case.settings.group_key)[0]
    kind = dict(step.columns)[key]
    rows = ", ".join(f"(CAST({'NULL' if value == 'NULL' else repr(value)} AS {kind}))" for value in values)
    branch.session.sql(f"SELECT * FROM VALUES {rows} AS t({key})").createOrReplaceTempView("__touched")
    return Touched("__touched", (key,))


def _deletion(branch: Branch, case: Case, steps: tuple[Step, ...]) -> DeleteRequest:
    words, flags, key = case.deletion, steps[-1].flags, case.settings.unique_key[0]
    ratios = [float(word) for word in words if word[0].isdigit()]
    deletion = DeleteRequest(
        DeletionRules("inferred" in words, "soft" in words, max_ratio=ratios[0] if ratios else 0.5)
    )
    taken = flags.pop("snapshots", ())
    if (present := flags.pop("present", None)) is not None:
        taken = ((flags.get("run_started_at", _FIRST_RUN), True, present),)
    if taken:
        snapshots = tuple(SourceSnapshot(f"s{number}", time, whole) for number, (time, whole, _) in enumerate(taken, 1))
        rows = [(key, one) for one, (_, _, keys) in zip(snapshots, taken, strict=True) for key in keys]
        branch.session.sql(_present(key, rows, steps[-1].query)).createOrReplaceTempView("__present")
        deletion = replace(deletion, present="__present", snapshots=snapshots)
    if "tombstones" in words:
        signals = " UNION ALL ".join(
            f"SELECT {key}, _commit_time, _sequence FROM ({step.query}) WHERE {DELETED}" for step in steps
        )
        branch.session.sql(signals).createOrReplaceTempView("__tombstones")
        deletion = replace(deletion, tombstones="__tombstones")
    return deletion


def _present(key: str, rows: list[tuple[str, SourceSnapshot]], batch: str) -> str:
    """Each key of each snapshot, with the row of the batch that has the snapshot's time."""
    values = ", ".join(f"('{value}', '{of.name}', TIMESTAMP '{of.taken}')" for value, of in rows)
    return (
        f"SELECT p.{key}, p.{SNAPSHOT}, b._commit_time, b._sequence"
        f" FROM VALUES {values or '(NULL, NULL, NULL)'} AS p({key}, {SNAPSHOT}, taken)"
        f" LEFT JOIN ({batch}) b ON CAST(b.{key} AS STRING) = p.{key} AND b._commit_time = p.taken"
        f" WHERE p.{key} IS NOT NULL"
    )


def _same_deletions(outcome: WriteOutcome | None, step: Step) -> None:
    known = asdict(DeletionCounts())
    words = [word for kind in ("expect", "unchanged") if kind in step.outcome for word in step.outcome[kind].words]
    wanted = {name: int(value) for name, _, value in (word.partition("=") for word in words) if name in known}
    counts = outcome.deletions if outcome else None
    assert (asdict(counts) if counts else known) == {**known, **wanted}


def _contains(texts: tuple[str, ...] | list[str], block: Block | None) -> None:
    wanted = block.lines if block else ()
    assert len(texts) == len(wanted), texts
    for text, part in zip(texts, wanted, strict=True):
        assert part in text


def _same_drift(outcome: WriteOutcome, block: Block | None) -> None:
    found = [f"{c.column} {c.action} {c.before or 'none'} -> {c.after or 'none'}" for c in outcome.drift]
    assert sorted(found) == sorted(block.lines if block else ())
    assert all(change.reason for change in outcome.drift)


def _same_table(branch: Branch, table: TableName, outcome: WriteOutcome | None, block: Block) -> None:
    frame = branch.session.table(table.quoted)
    texts = [f"CAST({_quote(name)} AS string) AS c{number}" for number, name in enumerate(frame.columns)]
    found = sorted(tuple(_shown(cell) for cell in row) for row in frame.selectExpr(*texts).collect())
    wanted = sorted(split_row(line) for line in block.lines)
    assert found == wanted, f"{found} is not {wanted}"
    for word in block.words:
        if word.startswith("("):
            assert f"({', '.join(frame.columns)})" == word
            continue
        name, _, value = word.partition("=")
        assert outcome is not None
        if name in asdict(DeletionCounts()):
            continue
        assert (name, getattr(outcome, f"rows_{name}")) == (name, int(value))
    assert outcome is None or outcome.changed or "unchanged" in block.words


def _quote(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _shown(cell: str | None) -> str:
    return "NULL" if cell is None else cell or "''"
