"""Which refused rows are meant by the options of `quarantine`, and what a run is asked for by `quarantine replay`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tidegate.planner.replay import OPEN, REPLAYED, STATUSES, WAIVED, QuarantineFilter, ReplayRequest
from tidegate.runs.options import RunOptions

FAILURE = pa.struct([(name, pa.string()) for name in ("stage", "column", "rule", "message", "value")])
TEXTS = pa.list_(pa.string())
OF_MODELS = {"n": pa.int64(), "_reasons": TEXTS, "_columns": TEXTS, "_run_id": pa.string()}
OF_RECORDS = {**OF_MODELS, "_source_file": pa.string(), "_line": pa.int64()}
OF_CONTRACTS = {
    **OF_MODELS,
    "_source_file": pa.string(),
    "_stage": pa.string(),
    "_failures": pa.list_(FAILURE),
    "_status": pa.string(),
}


def of_contract(n: int, stage: str, run: str, file: str, status: str | None, *failures: tuple[str, str]) -> Any:
    entries = [
        {"stage": stage, "column": column, "rule": rule, "message": "is wrong", "value": "x"}
        for column, rule in failures
    ]
    columns = [column for column, _ in failures]
    row = {"n": n, "_reasons": [], "_columns": columns, "_run_id": run, "_source_file": file, "_stage": stage}
    return {**row, "_failures": entries, "_status": status}


CONTRACT_ROWS = [
    of_contract(1, "cast", "run-1", "a.csv", None, ("Amount", "bigint")),
    of_contract(2, "constraint", "run-1", "b.csv", OPEN, ("mail", "pattern"), ("amount", "minimum")),
    of_contract(3, "constraint", "run-2", "b.csv", OPEN, ("mail", "maxLength")),
    of_contract(4, "cast", "run-2", "a.csv", REPLAYED, ("amount", "bigint")),
    of_contract(5, "quality", "run-2", "a.csv", WAIVED, ("", "no refunds")),
]


def chosen(rows: list[dict[str, Any]], kinds: dict[str, pa.DataType], **options: Any) -> list[int]:
    batch = pa.RecordBatch.from_pylist(rows, pa.schema(kinds))
    return QuarantineFilter(**options).matching(batch).column("n").to_pylist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 2, 3]),
        ({"statuses": STATUSES}, [1, 2, 3, 4, 5]),
        ({"statuses": (WAIVED,)}, [5]),
        ({"stage": "cast"}, [1]),
        ({"stage": "cast", "statuses": STATUSES}, [1, 4]),
        ({"column": "AMOUNT"}, [1, 2]),
        ({"rule": "pattern"}, [2]),
        ({"rule": "no refunds"}, []),
        ({"run": "run-2"}, [3]),
        ({"file": "b.csv", "rule": "minimum"}, [2]),
        ({"file": "c.csv"}, []),
        ({"stage": "landing"}, []),
    ],
)
def test_rows_of_a_contract_are_chosen(options: dict[str, Any], expected: list[int]) -> None:
    assert chosen(CONTRACT_ROWS, OF_CONTRACTS, **options) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 2, 3]),
        ({"statuses": (WAIVED,)}, []),
        ({"stage": "constraint"}, [1, 2]),
        ({"stage": "landing"}, [3]),
        ({"stage": "cast"}, []),
        ({"rule": "compare(a, >, 0)"}, [1]),
        ({"rule": "compare(a, >, 0)", "column": "b"}, []),
        ({"rule": "has 2 fields where 3 are expected"}, [3]),
        ({"file": "a.csv"}, [3]),
    ],
)
def test_rows_of_a_model_are_chosen(options: dict[str, Any], expected: list[int]) -> None:
    rows = [
        {"n": 1, "_reasons": ["compare(a, >, 0): a > 0"], "_columns": ["a"], "_run_id": "r"},
        {"n": 2, "_reasons": ["compare(a, >, 0.5): a > 0.5", "not_null(b): no NULL in b"], "_columns": ["a", "b"]},
        {
            "n": 3,
            "_reasons": ["has 2 fields where 3 are expected"],
            "_columns": [],
            "_source_file": "a.csv",
            "_line": 7,
        },
    ]
    assert chosen(rows, OF_RECORDS, **options) == expected


def test_nothing_comes_from_a_file_where_no_row_says_from_which_it_comes() -> None:
    rows = [{"n": 1, "_reasons": ["unique(a): a"], "_columns": ["a"], "_run_id": "r"}]
    assert chosen(rows, OF_MODELS, file="a.csv") == []
    assert chosen(rows, OF_MODELS, run="r") == [1]


def test_the_request_survives_the_record_of_its_run() -> None:
    replay = ReplayRequest("shop.silver.orders", "ann", QuarantineFilter(stage="cast", rule="it's"))
    options = RunOptions(select=("silver.orders+",), no_ingest=True, replay=replay)
    assert RunOptions.from_dict(options.to_record()) == options
    assert RunOptions.from_dict(RunOptions().to_record()) == RunOptions()
    assert len({RunOptions().digest, RunOptions(no_ingest=True).digest, options.digest}) == 3


def test_the_condition_names_columns_that_are_there() -> None:
    everything = QuarantineFilter("cast", "Amount", "it's", "run-1", "a.csv")
    assert everything.condition([*OF_CONTRACTS]) == (
        "_stage = 'cast' AND _run_id = 'run-1' AND _source_file = 'a.csv' AND coalesce(_status, 'open') IN ('open')"
        " AND exists(_columns, c -> lower(c) = 'amount') AND exists(_failures, f -> f.rule = 'it\\'s')"
    )
    older = [name for name in OF_CONTRACTS if name != "_status"]
    assert QuarantineFilter().condition(older) == "true"
    assert QuarantineFilter(statuses=(WAIVED,)).condition(older) == "false"
