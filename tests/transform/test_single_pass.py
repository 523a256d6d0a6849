"""Rows that are judged while they are written end where they end otherwise."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.transform.bronze_rows import bronze_frame

from tidegate.contracts.ingestion import DeletionRules, QualityRule, SilverColumn, SilverRules
from tidegate.errors import QualityError
from tidegate.transform.silver import DELETED, StageCounts, validated
from tidegate.transform.silver.single_pass import judges_rows_alone

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ID = SilverColumn("id", "bigint", ("id",), primary_key=True)
DAY = SilverColumn(
    "day", "date", ("day",), required=True, transform="IF(day = 'soon', raise_error('soon'), nullif(day, 'never'))"
)
TAGS = SilverColumn("tags", "array<int>", ("doc", "tags"), options={"maxItems": 2})
# Each may fail at two places, which are more than one number has bits, so that some share one.
FILLERS = tuple(SilverColumn(f"n{number}", "int", (f"n{number}",), options={"minimum": 0}) for number in range(40))
RULES = SilverRules("orders", "orders", (ID, DAY, TAGS, *FILLERS), ("id",), "current_state")
STARTED = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("logic", "same"),
    [
        ("upper(day)", True),
        ("CASE WHEN day = 'soon' THEN raise_error('soon') ELSE day END", True),
        ("concat(day, uuid())", False),
        ("IF(rand() < 0.5, day, '')", False),
        ("CAST(current_date AS STRING)", False),
        ("own_function(day)", False),
        ("upper(", False),
    ],
)
def test_only_logic_that_gives_the_same_again_is_computed_again(logic: str, same: bool) -> None:
    assert judges_rows_alone(replace(RULES, columns=(ID, replace(DAY, transform=logic)))) is same


@pytest.mark.parametrize(
    "changed",
    [
        {"deletion": DeletionRules(inferred=False, soft=True)},
        {"quality": (QualityRule("round", "id = 5"),)},
        {"columns": (ID, replace(DAY, unique=True))},
    ],
)
def test_rules_about_several_rows_need_them_all(changed: Any) -> None:
    assert judges_rows_alone(RULES)
    assert not judges_rows_alone(replace(RULES, **changed))


@pytest.mark.spark
def test_rows_end_in_the_same_places_with_the_same_reasons(spark: SparkSession) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "day": "2024-01-31", "doc": '{"tags":[1,2]}', "n39": "7"},
        {"id": 2, "day": "soon"},
        {"id": 3, "day": "2024-02-30", "doc": '{"tags":["x"]}', "n0": "-1"},
        {"id": 4, "day": "never"},
        {"id": 5, "day": "2024-01-31", "doc": '{"tags":[1,2,3]}', "n39": "-1"},
        {"id": 6, "day": "2024-01-31", "doc": "{"},
        {"id": "x", "day": "2024-01-31"},
        {"id": None, "day": "2024-01-31"},
        {"id": None, "day": "2024-01-31"},
        {"id": 7, "_op": "delete"},
        {"id": "y", "_op": "delete"},
        {"id": 8, "day": " 2024-1-1 ", "doc": "null"},
    ]
    filled = {column.name: None for column in FILLERS}
    frame = bronze_frame(spark, [{**filled, "doc": None, **row, "_source_row": n} for n, row in enumerate(rows)])
    once = _divided(spark, frame, written_once=True)
    assert once == _divided(spark, frame, written_once=False)
    counts, valid, _ = once
    assert [row["id"] for row in valid] == [1, 8]
    assert counts.quarantined == {"transform": 2, "cast": 3, "constraint": 4, "unique": 0, "quality": 0}


@pytest.mark.spark
def test_no_value_is_taken_that_spark_reads_into_a_text(spark: SparkSession) -> None:
    """Spark casts each of them: `2024` to a date, `1d` to a number."""
    kinds = {"day": "date", "at": "timestamp", "rate": "double"}
    key = SilverColumn("key", "date", ("key",), primary_key=True)
    rules = replace(RULES, columns=(key, *(SilverColumn(name, kind, (name,)) for name, kind in kinds.items())))
    rules = replace(rules, key=("key",))
    rows: list[dict[str, Any]] = [
        {"key": "2024-01-01", "day": "2024-01-31", "at": "2024-01-31 10:00:00", "rate": "1.5"},
        {"key": "2024-01-02", "day": "2024"},
        {"key": "2024-01-03", "at": "2024"},
        {"key": "2024-01-04", "rate": "1d"},
        {"key": "2024-01-05", "rate": "1e-400"},
        {"key": "2025"},
        {"key": "2024-01-06", "day": "2024", "_op": "delete"},
        {"key": "2026", "_op": "delete"},
    ]
    nothing = dict.fromkeys(kinds)
    frame = bronze_frame(spark, [{**nothing, **row, "_source_row": number} for number, row in enumerate(rows)])
    once = _divided(spark, frame, written_once=True, rules=rules, order="key")
    assert once == _divided(spark, frame, written_once=False, rules=rules, order="key")
    counts, valid, refused = once
    assert [str(row["key"]) for row in valid] == ["2024-01-01"]
    assert [row["_columns"] for row in refused] == [["day"], ["at"], ["rate"], ["rate"], ["key"], ["key"]]
    assert (counts.quarantined["cast"], counts.delete_signals) == (6, 1)


@pytest.mark.spark
def test_rows_of_one_key_are_compared(spark: SparkSession) -> None:
    frame = bronze_frame(spark, [{"id": "1", "_sequence": 1}, {"id": "1.0", "_sequence": 2}])
    rules = replace(RULES, columns=(ID,))
    with validated(spark, frame, rules, "c", "1", "run", STARTED, None, written_once=True) as result:
        assert [row["_sequence"] for row in result.valid.collect()] == ["2"]
        assert result.counts.deduplicated == 1


@pytest.mark.spark
def test_rows_that_change_while_they_are_written_do_not_add_up(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text('{"id":"1"}\n{"id":"x"}\n')
    meta = bronze_frame(spark, [{}])
    frame = spark.read.schema("id string").json(str(file)).crossJoin(meta)
    rules = replace(RULES, columns=(ID,))
    with validated(spark, frame, rules, "c", "1", "run", STARTED, None, written_once=True) as result:
        assert len(result.valid.collect()) == 1
        file.write_text('{"id":"y"}\n{"id":"x"}\n')
        with pytest.raises(QualityError, match="2 rows of orders were read, and 3 are accounted for"):
            _ = result.counts


def _divided(
    spark: SparkSession, frame: DataFrame, *, written_once: bool, rules: SilverRules = RULES, order: str = "id"
) -> tuple[StageCounts, list[dict[str, Any]], list[dict[str, Any]]]:
    with validated(spark, frame, rules, "c", "1", "run", STARTED, None, written_once=written_once) as result:
        assert (result.marked is None) is written_once
        valid = [row.asDict(True) for row in result.valid.where(f"NOT {DELETED}").orderBy(order).collect()]
        refused = [row.asDict(True) for row in result.refused.orderBy("_source_row").collect()]
        return result.counts, valid, refused
