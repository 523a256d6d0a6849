"""Whatever the rows of bronze hold, each of them ends in one place, and its order and partition do not matter."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.transform.bronze_rows import bronze_frame

from tidegate.contracts.ingestion import DeletionRules, QualityRule, SilverColumn, SilverRules
from tidegate.transform.silver import DELETED, StageCounts, validated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    SilverColumn("id", "int", ("id",), primary_key=True),
    SilverColumn("amount", "decimal(6,2)", ("amount",), options={"minimum": 0}, required=True),
    SilverColumn("email", "varchar(5)", ("doc", "email"), unique=True),
    SilverColumn("day", "date", ("day",), transform="CASE WHEN day = 'soon' THEN raise_error('soon') ELSE day END"),
)
RULES = SilverRules(
    "orders",
    "orders",
    COLUMNS,
    ("id",),
    "current_state",
    DeletionRules(inferred=False, soft=True),
    quality=(QualityRule("round", "amount = 5"), QualityRule("late", "SELECT id FROM orders WHERE id = 3")),
)
texts = st.sampled_from([None, "", "x", "1", "2", "3", "4", "5", "-1", "1.005", "NaN", " 2 ", "1e3", "\u0000", "é"])
emails = st.sampled_from(['{"email":"a"}', '{"email":"b"}', '{"email":"toolong"}', "{", "{}", "null", '{"email":1.10}'])
days = st.sampled_from([None, "2024-01-31", "0000-01-01", "2024", "soon", "2023-02-29"])
rows = st.lists(
    st.fixed_dictionaries(
        {
            "id": texts,
            "amount": texts,
            "doc": emails,
            "day": days,
            "_op": st.sampled_from(["insert", "update", "delete"]),
            "_commit_time": st.sampled_from(["2024-01-01", "2024-01-02"]),
            "_sequence": st.sampled_from(["1", "2"]),
        }
    ),
    min_size=1,
    max_size=25,
)


@pytest.mark.spark
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=rows, seed=st.randoms(use_true_random=False))
def test_each_row_ends_in_one_place_whatever_the_order(spark: SparkSession, rows: list[Any], seed: Any) -> None:
    numbered = [{**row, "_source_row": n} for n, row in enumerate(rows)]
    first = _divided(spark, bronze_frame(spark, numbered))
    seed.shuffle(numbered)
    assert _divided(spark, bronze_frame(spark, numbered).repartition(3)) == first


def _divided(spark: SparkSession, frame: DataFrame) -> tuple[StageCounts, Any, Any]:
    with validated(spark, frame, RULES, "c", "1", "run", datetime(2024, 1, 1, tzinfo=UTC), None) as result:
        valid = [row.asDict(True) for row in result.valid.collect()]
        refused = [row.asDict(True) for row in result.refused.collect()]
    counts = result.counts
    assert counts.read == counts.valid + counts.refused + counts.deduplicated + counts.delete_signals == frame.count()
    assert counts.valid == sum(not row[DELETED] for row in valid)
    assert counts.delete_signals == sum(row[DELETED] for row in valid)
    assert Counter(row["_stage"] for row in refused) == Counter({k: n for k, n in counts.quarantined.items() if n})
    # Beside a delete stands the last row that it deletes.
    assert len({(row["id"], row[DELETED]) for row in valid}) == len(valid)
    assert len({row["_source_row"] for row in refused}) == len(refused)
    for row in refused:
        assert row["_failures"]
        for failure in row["_failures"]:
            assert failure["stage"] == row["_stage"]
            assert failure["column"] in row["_columns"]
            assert failure["value"] is not None
            assert failure["value"] in failure["message"] or "is NULL" in failure["message"]
    return counts, sorted(map(repr, valid)), sorted(map(repr, refused))
