"""Rows that break constraints go beside the table, by every strategy: tests/cases/quarantine.

The form is that of case_files.py, with `constraint:` in the head, and `quarantine` after a batch: the rows that are
there then, each with the names of the constraints that it breaks and the columns that those are about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tidegate.checks.check_registry import RowConstraint, row_constraints
from tidegate.datatypes import Column, Relation, parse_type
from tidegate.errors import QualityError, StrategyError
from tidegate.names import TableName
from tidegate.problems import Place
from tidegate.project.declared_checks import declared_checks
from tidegate.project.model import ModelSettings, Strategy
from tidegate.project.settings_files import SourceNode
from tidegate.quality import OwnFunctions
from tidegate.write import WriteOutcome, WriteRequest
from tidegate.write import quarantine_table as quarantining
from tidegate.write.quarantine_table import QuarantineRules, write_with_quarantine

from .case_files import Block, Case, Step, read_case, split_row
from .conftest import Branch

pytestmark = pytest.mark.spark

_CASES = sorted((Path(__file__).parents[1] / "cases" / "quarantine").glob("*.txt"))
_RUN = datetime(2024, 1, 1, tzinfo=UTC)
_CONSTRAINT = re.compile(r"^constraint: (.*)\n", re.MULTILINE)
_NO_FUNCTIONS = OwnFunctions(Path())


def constraints(texts: list[str], columns: Relation) -> tuple[RowConstraint, ...]:
    place = Place("models/silver/m.sql")
    node = SourceNode([SourceNode(text, place, text) for text in texts], place)
    found = declared_checks("constraint", node, {})
    assert not found.problems
    return row_constraints(found.checks, columns)


@pytest.mark.parametrize("path", _CASES, ids=lambda path: path.stem)
def test_case(path: Path, branch: Branch, tmp_path: Path) -> None:
    text = path.read_text()
    plain = tmp_path / "case.txt"
    plain.write_text(_CONSTRAINT.sub("", text))
    case, table = read_case(plain), TableName("shop", "silver", f"q_{path.stem}")
    dropped: Mapping[str, str] = {}
    for number, step in enumerate(case.steps, 1):
        try:
            dropped = _run(branch, case, _CONSTRAINT.findall(text), table, step, dropped)
        except BaseException as error:
            error.add_note(f"in step {number} of {path.name}")
            raise


def _run(
    branch: Branch, case: Case, rules: list[str], table: TableName, step: Step, dropped: Mapping[str, str]
) -> Mapping[str, str]:
    flags = {"run_started_at": _RUN, "complete": False, **step.flags}
    result = branch.session.sql(step.query)
    request = WriteRequest(branch.session, branch.lake, table, result, case.settings, dropped_columns=dropped, **flags)
    columns = Relation(tuple(Column(name.strip("`"), parse_type(kind)) for name, kind in step.columns))  # type: ignore[arg-type]
    whole = case.settings.strategy is Strategy.FULL_REFRESH or flags["complete"]
    outcome, refused = write_with_quarantine(
        request, QuarantineRules(constraints(rules, columns), _NO_FUNCTIONS, "run-1", whole)
    )
    if "drift" in step.outcome or outcome.drift:
        found = [f"{c.column} {c.action} {c.before or 'none'} -> {c.after or 'none'}" for c in outcome.drift]
        assert sorted(found) == sorted(step.outcome["drift"].lines)
    assert bool(outcome.warnings) == ("warning" in step.outcome)
    _same_table(branch, table, outcome, step.outcome["expect"])
    if quarantine := step.outcome.get("quarantine"):
        _same_quarantine(branch, table, quarantine)
    assert (max((one.rows for one in refused), default=0) > 0) == (outcome.rows_quarantined > 0)
    assert all(bool(one.samples) == bool(one.rows) for one in refused)
    left = {name.name for name in branch.lake.heads() if name.name.startswith(f"{table.name}__")}
    assert left == {table.quarantine.name}
    assert not branch.session.catalog.tableExists("__tidegate_marked")
    return outcome.dropped_columns


def _same_table(branch: Branch, table: TableName, outcome: WriteOutcome, block: Block) -> None:
    frame = branch.session.table(table.quoted)
    assert _shown(frame) == sorted(split_row(line) for line in block.lines)
    for word in block.words:
        name, _, value = word.partition("=")
        if value:
            assert (name, getattr(outcome, f"rows_{name}")) == (name, int(value))
        else:
            assert (name, outcome.changed) == ("unchanged", False)


def _same_quarantine(branch: Branch, table: TableName, block: Block) -> None:
    frame = branch.session.table(table.quarantine.quoted)
    own = [name for name in frame.columns if not name.startswith("_")]
    assert frame.columns[len(own) :] == ["_reasons", "_columns", "_run_id", "_quarantined_at"] or block.words
    if block.words:
        assert f"({', '.join(own)})" == " ".join(block.words)
    names = "array_join(transform(_reasons, r -> substring_index(r, ': ', 1)), ', ')"
    proper = "_run_id = 'run-1' AND _quarantined_at >= '2024-01-01' AND _reasons[0] LIKE '%: %' AS proper"
    told = frame.selectExpr(*own, names, "array_join(_columns, ', ')", proper)
    assert _shown(told) == sorted((*split_row(line), "true") for line in block.lines)


def _shown(frame: Any) -> list[tuple[str, ...]]:
    texts = [f"CAST(`{name}` AS string) AS c{number}" for number, name in enumerate(frame.columns)]
    return sorted(
        tuple("NULL" if cell is None else cell or "''" for cell in row) for row in frame.selectExpr(*texts).collect()
    )


def _request(branch: Branch, name: str, query: str, **settings: Any) -> WriteRequest:
    table, result = TableName("shop", "silver", name), branch.session.sql(query)
    return WriteRequest(branch.session, branch.lake, table, result, ModelSettings(**settings), _RUN, complete=True)


def _sieve(request: WriteRequest, *rules: str, staged: bool = False) -> QuarantineRules:
    columns = Relation(tuple(Column(name) for name in request.result.columns))
    return QuarantineRules(constraints(list(rules), columns), _NO_FUNCTIONS, "run-1", whole=True, staged=staged)


@pytest.mark.parametrize("staged", [False, True], ids=["kept by Spark", "staged"])
def test_a_result_that_is_another_each_time_is_computed_once(branch: Branch, staged: bool) -> None:
    query = "SELECT id, reflect('java.util.UUID', 'randomUUID') AS u FROM range(0, 500, 1, 3)"
    request = _request(branch, f"q_once_{staged}".lower(), query, sorted_by=("u",))
    outcome, _ = write_with_quarantine(request, _sieve(request, "check('half', 'u < \"8\"')", staged=staged))
    assert outcome.rows_written + outcome.rows_quarantined == 500
    assert 0 < outcome.rows_quarantined < 500
    good, refused = (branch.session.table(t.quoted) for t in (request.table, request.table.quarantine))
    assert good.select("id").union(refused.select("id")).distinct().count() == 500
    assert good.where("u >= '8'").count() + refused.where("u < '8'").count() == 0


@pytest.mark.parametrize("limit", [0, 10], ids=["nothing is refused", "some rows are"])
def test_the_query_is_computed_once(branch: Branch, limit: int) -> None:
    from pyspark.sql import functions as f

    computed = branch.session.sparkContext.accumulator(0)

    def count(value: int) -> int:
        computed.add(1)
        return value

    request = _request(branch, f"q_counted_{limit}", "SELECT 1 AS n", sorted_by=("n",))
    counted = f.udf(count, "int", useArrow=False).asNondeterministic()
    numbers = branch.session.range(0, 40, 1, 2).select(counted("id").alias("n"))
    request = replace(request, result=numbers)
    outcome, _ = write_with_quarantine(request, _sieve(request, f"compare(n, >=, {limit})"))
    assert (outcome.rows_written, outcome.rows_quarantined) == (40 - limit, limit)
    assert computed.value == 40


def test_a_constraint_that_some_row_cannot_answer_refuses_none_and_the_others_do(branch: Branch) -> None:
    request = _request(branch, "q_raises", "SELECT * FROM VALUES (1, 1), (2, 0), (3, -1) AS t(id, n)")
    rules = ("check('ratio', '6 / n > 1')", "compare(id, <, 3)")
    outcome, refused = write_with_quarantine(request, _sieve(request, *rules))
    assert (outcome.rows_written, outcome.rows_quarantined) == (2, 1)
    assert [(one.constraint.check.name, one.rows) for one in refused] == [("compare(id, <, 3)", 1), ("ratio", 0)]
    assert "Division by zero." in (refused[1].error or "")
    broken = _request(branch, "q_broken", "SELECT id, 6 / n AS n FROM VALUES (1, 1), (2, 0) AS t(id, n)")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        write_with_quarantine(broken, _sieve(broken, *rules))


def test_both_tables_are_put_back_when_the_strategy_refuses(branch: Branch) -> None:
    settings = {"strategy": Strategy.INCREMENTAL, "unique_key": ("id",)}
    first = _request(branch, "q_back", "SELECT * FROM VALUES (1, 1), (2, 0) AS t(id, n)", **settings)
    write_with_quarantine(first, _sieve(first, "compare(n, >, 0)"))
    before = branch.lake.heads()
    second = _request(branch, "q_back", "SELECT * FROM VALUES (1, 1), (1, 2), (3, 0) AS t(id, n)", **settings)
    with pytest.raises(Exception, match="more than one row"):
        write_with_quarantine(second, _sieve(second, "compare(n, >, 0)"))
    assert branch.lake.heads() == before


def test_what_stands_in_the_place_of_a_quarantine_is_not_overwritten(branch: Branch) -> None:
    request = _request(branch, "q_taken", "SELECT 1 AS n")
    branch.lake.create_namespace(request.table)
    branch.session.sql(f"CREATE TABLE {request.table.quarantine.quoted} AS SELECT 'mine' AS a")
    with pytest.raises(StrategyError, match="holds no quarantined rows"):
        write_with_quarantine(request, _sieve(request, "compare(n, >, 0)"))
    assert branch.session.table(request.table.quarantine.quoted).collect()[0]["a"] == "mine"
    assert branch.lake.pointer(request.table) is None


def test_rows_that_do_not_add_up_fail(branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    request = _request(branch, "q_sum", "SELECT * FROM VALUES (1), (0) AS t(n)")
    monkeypatch.setattr(quarantining, "GOOD", "n > 5")
    with pytest.raises(QualityError, match="1 break no constraint, but 0 were written"):
        write_with_quarantine(request, _sieve(request, "compare(n, >, 0)"))
    assert branch.lake.pointer(request.table) is None
    assert branch.lake.pointer(request.table.quarantine) is None


def test_columns_that_the_quarantine_fills_are_refused(branch: Branch) -> None:
    request = _request(branch, "q_own", "SELECT 1 AS n, 'x' AS _Run_Id")
    with pytest.raises(StrategyError, match="column '_run_id'"):
        write_with_quarantine(request, _sieve(request, "compare(n, >, 0)"))


def test_samples_do_not_show_hidden_columns(branch: Branch) -> None:
    query = "SELECT * FROM VALUES (1, 'clear', 0) AS t(id, name, n)"
    request = replace(_request(branch, "q_hidden", query, unique_key=("id",)), hidden=frozenset({"name"}))
    _, (length, positive) = write_with_quarantine(request, _sieve(request, "length_eq(name, 1)", "compare(n, >, 0)"))
    assert (length.rows, positive.rows) == (1, 1)
    assert length.samples == ({"name": "***", "id": 1},)
    assert positive.samples == ({"n": 0, "id": 1},)
