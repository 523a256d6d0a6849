"""Rows of bronze are divided into those of silver and those that are refused, and every row is accounted for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.transform.bronze_rows import bronze_frame

from tidegate.contracts.ingestion import DeleteIndicator, DeletionRules, QualityRule, SilverColumn, SilverRules
from tidegate.errors import QueryError
from tidegate.transform.silver import DELETED, META, StageCounts, mark_rows, validated
from tidegate.transform.silver.silver_frame import FAILURES, STAGE, TEXTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STARTED = datetime(2024, 5, 1, 12, tzinfo=UTC)
ID = SilverColumn("id", "bigint", ("id",), primary_key=True)
AMOUNT = SilverColumn("amount", "decimal(10,2)", ("amount",), options={"minimum": 0})
EMAIL = SilverColumn("email", "string", ("email",), unique=True)
ORDERS = SilverRules("orders", "orders", (ID, AMOUNT), ("id",), "current_state")
DELETES = DeletionRules(inferred=False, soft=True)


def divide(
    spark: SparkSession, rules: SilverRules, rows: Sequence[Mapping[str, Any]], target: str | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], StageCounts]:
    """Valid rows, refused rows and counts, the rows in the order of their sequence."""
    frame = bronze_frame(spark, [{"_sequence": n, "_source_row": n, **row} for n, row in enumerate(rows)])
    with validated(spark, frame, rules, "c1", "1.0.0", "run-7", STARTED, target) as result:
        valid = [row.asDict(True) for row in result.valid.orderBy("_commit_time", "_sequence").collect()]
        refused = [row.asDict(True) for row in result.refused.orderBy("_commit_time", "_sequence").collect()]
    counts = result.counts
    assert counts.valid == sum(not row[DELETED] for row in valid)
    assert counts.refused == len(refused)
    return valid, refused, counts


def reasons(refused: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    return [(row["_stage"], row["_reasons"]) for row in refused]


def test_a_refused_row_says_where_it_came_from_and_why(spark: SparkSession) -> None:
    _, refused, counts = divide(spark, ORDERS, [{"id": "1", "amount": "-5"}, {"id": "x", "amount": "y"}])
    assert refused[0] == {
        "id": "1",
        "amount": "-5.00",
        "_reasons": ["amount -5.00 is less than the minimum 0"],
        "_columns": ["amount"],
        "_run_id": "run-7",
        "_quarantined_at": datetime(2024, 5, 1, 12),
        "_stage": "constraint",
        "_failures": [
            {
                "stage": "constraint",
                "column": "amount",
                "rule": "minimum",
                "message": "amount -5.00 is less than the minimum 0",
                "value": "-5.00",
            }
        ],
        "_source_file": "things/a.csv",
        "_source_row": 0,
        "_contract_id": "c1",
        "_contract_version": "1.0.0",
        "_op": "read",
        "_commit_time": datetime(2024, 1, 1),
        "_sequence": "0",
    }
    assert reasons(refused[1:]) == [("cast", ["'x' is not a bigint", "'y' is not a decimal(10,2)"])]
    assert counts.quarantined == {"transform": 0, "cast": 1, "constraint": 1, "unique": 0, "quality": 0}


def test_the_newest_valid_row_of_a_key_stays(spark: SparkSession) -> None:
    rows = [
        {"id": "1", "amount": "1"},
        {"id": "1", "amount": "2"},
        {"id": "1", "amount": "bad"},
        {"id": "2", "amount": "3", "_commit_time": "2024-01-02"},
        {"id": "2", "amount": "4"},
    ]
    valid, refused, counts = divide(spark, ORDERS, rows)
    assert [(row["id"], int(row["amount"])) for row in valid] == [(1, 2), (2, 3)]
    assert (len(refused), counts.deduplicated, counts.read) == (1, 2, 5)
    valid, _, counts = divide(spark, replace(ORDERS, strategy="history"), rows)
    assert [(row["id"], int(row["amount"])) for row in valid] == [(1, 2), (2, 4), (2, 3)]
    assert counts.deduplicated == 1
    valid, _, counts = divide(spark, replace(ORDERS, strategy="append"), rows)
    assert (len(valid), counts.deduplicated) == (4, 0)


def test_a_delete_needs_only_a_valid_key(spark: SparkSession) -> None:
    rules = replace(ORDERS, deletion=DELETES)
    rows = [
        {"id": "1", "amount": "1", "_op": "insert"},
        {"id": "1", "amount": "bad", "_op": "delete"},
        {"id": "2", "amount": "-1", "_op": "delete"},
        {"id": "2", "amount": "2", "_op": "insert"},
        {"id": "3", "amount": "-1", "_op": "delete"},
        {"id": None, "amount": "1", "_op": "delete"},
        {"id": "x", "amount": "1", "_op": "delete"},
    ]
    valid, refused, counts = divide(spark, rules, rows)
    assert [(row["id"], row["amount"], row[DELETED]) for row in valid] == [
        (1, 1, False),
        (1, None, True),
        (2, 2, False),
        (3, None, True),
    ]
    assert reasons(refused) == [
        ("constraint", ["id is NULL, and is part of the primary key"]),
        ("cast", ["'x' is not a bigint"]),
    ]
    assert (counts.valid, counts.delete_signals, counts.deduplicated) == (2, 2, 1)


def test_deletes_are_counted_and_ignored_where_the_contract_has_none(spark: SparkSession) -> None:
    rows = [{"id": "1", "amount": "1", "_op": "insert"}, {"id": "1", "amount": "1", "_op": "delete"}]
    valid, _, counts = divide(spark, ORDERS, rows)
    assert [row[DELETED] for row in valid] == [False]
    assert (counts.valid, counts.delete_signals, counts.deduplicated) == (1, 1, 0)


def test_an_indicator_says_which_rows_delete(spark: SparkSession) -> None:
    rows = [
        {"id": "1", "gone": "Yes"},
        {"id": "2", "gone": "0"},
        {"id": "3", "gone": None},
        {"id": "4", "gone": "TRUE"},
    ]
    rules = replace(ORDERS, deletion=DELETES, indicator=DeleteIndicator("GONE", (True,)))
    assert [row[DELETED] for row in divide(spark, rules, rows)[0]] == [True, False, False, True]
    column = SilverColumn("gone", "string", ("gone",))
    rules = replace(rules, columns=(ID, column), deletion=DELETES, indicator=DeleteIndicator("gone", (0,)))
    assert [row[DELETED] for row in divide(spark, rules, rows)[0]] == [False, True, False, False]


def test_a_row_that_an_indicator_deletes_is_counted_where_deletions_are_not_applied(spark: SparkSession) -> None:
    rules = replace(ORDERS, indicator=DeleteIndicator("gone", ("D",)))
    rows = [{"id": "1", "amount": "1", "gone": "n"}, {"id": "1", "amount": None, "gone": "d", "_sequence": "2"}]
    valid, _, counts = divide(spark, rules, rows)
    assert [(row["id"], row["amount"], row[DELETED]) for row in valid] == [(1, 1, False)]
    assert (counts.valid, counts.delete_signals, counts.deduplicated) == (1, 1, 0)


def test_the_first_holder_of_a_unique_value_stays(spark: SparkSession) -> None:
    rules = replace(ORDERS, columns=(ID, EMAIL))
    rows = [
        {"id": "1", "email": "a"},
        {"id": "2", "email": "a"},
        {"id": "3", "email": None},
        {"id": "4", "email": None},
        {"id": "5", "email": "held"},
        {"id": "6", "email": "own"},
        {"id": "7", "email": "free"},
    ]
    spark.sql(
        "SELECT *, TIMESTAMP '2023-01-01' AS _commit_time, '1' AS _sequence"
        " FROM VALUES (6L, 'own'), (9L, 'held') AS t(id, email)"
    ).createOrReplaceTempView("held_emails")
    spark.sql(
        "SELECT *, id = 8 AS _is_deleted FROM (TABLE held_emails UNION ALL"
        " SELECT 8L, 'free', TIMESTAMP '2023-01-01', '1')"
    ).createOrReplaceTempView("target_emails")
    try:
        valid, refused, counts = divide(spark, rules, rows, target="target_emails")
    finally:
        for view in ("target_emails", "held_emails"):
            spark.catalog.dropTempView(view)
    assert [row["id"] for row in valid] == [1, 3, 4, 6, 7]
    assert reasons(refused) == [
        ("unique", ["email a is not unique: an earlier row (id = 1) holds it"]),
        ("unique", ["email held is not unique: a row of the table (id = 9) holds it"]),
    ]
    assert counts.quarantined["unique"] == 2


@pytest.mark.parametrize("strategy", ["current_state", "history"])
def test_the_table_holds_no_value_that_the_batch_takes_away(spark: SparkSession, strategy: str) -> None:
    mail = replace(EMAIL, name="e.mail")
    no_x = QualityRule("no_x", "`e.mail` = 'x'")
    rules = replace(ORDERS, columns=(ID, mail), strategy=strategy, quality=(no_x,), deletion=DELETES)
    spark.sql(
        "SELECT *, true AS is_current, make_timestamp(IF(id = 6, 2025, 2023), 1, 1, 0, 0, 0) AS _commit_time,"
        " '1' AS _sequence FROM VALUES"
        " (1L, 'a'), (2L, 'b'), (3L, 'c'), (4L, 'd'), (5L, 'e'), (6L, 'f') AS t(id, `e.mail`)"
    ).createOrReplaceTempView("held_mails")
    rows = [
        {"id": "1", "email": "b"},  # 1 and 2 change places
        {"id": "2", "email": "a"},
        {"id": "3", "email": "x"},  # refused by the rule, so 3 keeps c
        {"id": "11", "email": "c"},
        {"id": "4", "email": "c"},  # refused by 11, so 4 keeps d
        {"id": "12", "email": "d"},
        {"id": "5", "_op": "delete"},
        {"id": "13", "email": "e"},
        {"id": "6", "email": "late"},  # older than the table's row, so it is not written
        {"id": "14", "email": "late"},
    ]
    valid, refused, _ = divide(spark, rules, rows, target="held_mails")
    assert [row["id"] for row in valid if not row[DELETED]] == [1, 2, 13, 6, 14]
    assert {row["id"]: row["_reasons"][0].split(" (")[-1] for row in refused if row["_stage"] == "unique"} == {
        "11": "id = 3) holds it",
        "4": "id = 11) holds it",
        "12": "id = 4) holds it",
    }


def test_the_last_row_of_a_deleted_key_stays_beside_the_delete_and_holds_nothing(spark: SparkSession) -> None:
    rules = replace(
        ORDERS, columns=(ID, EMAIL), deletion=DELETES, quality=(QualityRule("one", "SELECT count(*) - 1 FROM orders"),)
    )
    rows = [
        {"id": "1", "email": "old"},
        {"id": "1", "email": "a"},
        {"id": "1", "_op": "delete"},
        {"id": "2", "email": "a"},
        {"id": "3", "_op": "delete"},
    ]
    valid, refused, counts = divide(spark, rules, rows)
    assert [(row["id"], row["email"], row[DELETED]) for row in valid] == [
        (1, "a", False),
        (1, None, True),
        (2, "a", False),
        (3, None, True),
    ]
    assert not refused
    assert (counts.valid, counts.deduplicated, counts.delete_signals) == (2, 1, 2)


def test_quality_rules_refuse_rows_in_each_form(spark: SparkSession) -> None:
    quality = (
        QualityRule("large", "amount > 100"),
        QualityRule("odd", "SELECT id FROM ${object} WHERE ${column} % 2 = 1", "id", {"mustBe": 0}),
        QualityRule("named", "SELECT o.* FROM orders o WHERE o.id = 4"),
        QualityRule("few", "SELECT count(*) FROM {table}", None, {"mustBeBetween": [1, 2], "mustNotBe": 1}),
    )
    rules = replace(ORDERS, quality=quality)
    rows = [
        {"id": n, "amount": amount} for n, amount in ((1, "500"), (2, "1"), (4, "1"), (6, None), (8, "101"), (9, "x"))
    ]
    valid, refused, counts = divide(spark, rules, rows)
    assert [row["id"] for row in valid] == [2, 6]
    assert reasons(refused) == [
        (
            "quality",
            [
                "quality rule large fails for amount 500.00: amount > 100",
                "quality rule odd fails for id 1: SELECT id FROM ${object} WHERE ${column} % 2 = 1",
            ],
        ),
        ("quality", ["quality rule named fails for id 4: SELECT o.* FROM orders o WHERE o.id = 4"]),
        ("quality", ["quality rule large fails for amount 101.00: amount > 100"]),
        ("cast", ["'x' is not a decimal(10,2)"]),
    ]
    assert counts.quarantined["quality"] == 3


def test_a_rule_about_the_whole_table_gates_it(spark: SparkSession) -> None:
    rules = replace(
        ORDERS, quality=(QualityRule("some", "SELECT sum(amount) FROM orders", None, {"mustBeGreaterThan": 10}),)
    )
    rows = bronze_frame(spark, [{"id": "1", "amount": "3"}, {"id": "2", "amount": "x"}])
    with validated(spark, rows, rules, "c", "1", "run-7", STARTED, None) as result:
        assert [str(failure) for failure in result.failures] == [
            "quality rule 'some' gives 3.00, and must be greater than 10"
        ]
        assert (result.counts.valid, result.counts.quarantined["cast"], result.refused.count()) == (1, 1, 1)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("amunt > 3", "'wrong' cannot be evaluated.*amunt"),
        ("SELECT amount, 1 FROM orders", "by which no row can be found"),
        ("SELECT nothing( FROM", "quality rule 'wrong' cannot be used: the SQL is not understood"),
        ("${property} > 3", "cannot be used: .* not that of a column"),
    ],
)
def test_a_quality_rule_that_cannot_run_fails(spark: SparkSession, query: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        divide(spark, replace(ORDERS, quality=(QualityRule("wrong", query),)), [{"id": "1", "amount": "3"}])


def test_a_condition_that_fails_at_a_row_is_named(spark: SparkSession) -> None:
    quality = (QualityRule("large", "amount > 100"), QualityRule("share", "100 / amount > 50"))
    with pytest.raises(QueryError, match="quality rule 'share' cannot be evaluated: Division by zero"):
        divide(spark, replace(ORDERS, quality=quality), [{"id": "1", "amount": "1"}, {"id": "2", "amount": "0"}])


def test_without_a_key_rows_are_found_by_all_columns(spark: SparkSession) -> None:
    tags = SilverColumn("tags", "map<string,int>", ("tags",))
    rule = QualityRule("dirty", "SELECT * FROM orders WHERE amount IS NULL")
    rules = SilverRules("orders", "orders", (AMOUNT, tags), (), "append", quality=(rule,))
    rows = [{"amount": None, "tags": '{"a":1}'}, {"amount": "1", "tags": '{"a":1}'}, {"amount": None, "tags": None}]
    valid, refused, _ = divide(spark, rules, rows)
    assert (len(valid), len(refused)) == (1, 2)


def test_logic_that_raises_refuses_exactly_its_rows(spark: SparkSession) -> None:
    """Two columns share what raises, and Spark evaluates what expressions share before either."""
    logic = "string(cast(amount AS INT) + 1)"
    lazy = "CASE WHEN lazy = 'x' THEN NULL ELSE string(1 / lazy) END"
    columns = (
        ID,
        SilverColumn("amount", "int", ("amount",), transform=logic),
        SilverColumn("twice", "int", ("amount",), transform="string(cast(amount AS INT) + cast(amount AS INT))"),
        SilverColumn("lazy", "string", ("amount",), transform=lazy),
        SilverColumn("said", "string", ("id",), transform="CASE WHEN id = '77' THEN raise_error('no') ELSE id END"),
    )
    frame = spark.range(1000).selectExpr(
        "string(id) AS id",
        "CASE WHEN id IN (7, 500, 999) THEN 'x' WHEN id = 8 THEN NULL ELSE string(id + 1) END AS amount",
        *(f"CAST(NULL AS STRING) AS {name}" for name in META if name != "_op"),
        "'read' AS _op",
    )
    rows = mark_rows(frame, replace(ORDERS, columns=columns)).where(f"{STAGE} IS NOT NULL").collect()
    found = {row[TEXTS]["id"]: [failure["column"] for failure in row[FAILURES]] for row in rows}
    assert found == {**{key: ["amount", "twice"] for key in ("7", "500", "999")}, "77": ["said"]}
    assert {failure["value"] for row in rows for failure in row[FAILURES]} == {"x", "77"}
    message = f"the transformLogic {logic} fails for amount = 'x'"
    assert message in {failure["message"] for row in rows for failure in row[FAILURES]}


@pytest.mark.parametrize(
    ("logic", "message"),
    [
        ("upper(", "is not Spark SQL"),
        ("upper(nam)", "cannot be used.*nam"),
        ("uper(name)", "cannot be used.*uper"),
        ("length(name)", "gives int, and must give a string"),
        ("max(name)", "cannot be used"),
    ],
)
def test_logic_that_cannot_be_used_fails_before_anything_is_computed(
    spark: SparkSession, logic: str, message: str
) -> None:
    rules = replace(ORDERS, columns=(SilverColumn("name", "string", ("name",), transform=logic),), key=())
    with pytest.raises(QueryError, match=message):
        mark_rows(bronze_frame(spark, [{"name": "a"}]), rules)


def test_values_come_out_of_json_as_they_were_delivered(spark: SparkSession) -> None:
    paths = {
        "price": ("Payload", "price"),
        "first": ("payload", "lines", "0", "sku"),
        "lines": ("payload", "lines"),
        "gone": ("payload", "a", "b"),
        "absent": ("nowhere",),
    }
    columns = tuple(SilverColumn(name, "string", path) for name, path in paths.items())
    document = '{"price": 1.10, "lines": [{"sku": "a\\"1.50", "n": 12345678901234567890.10}], "o": {"x": -0.0}}'
    rows = [{"payload": document}, {"payload": "null"}, {"payload": '{"price": 1.1.1}'}, {"payload": "[1]"}]
    valid, refused, _ = divide(spark, SilverRules("t", "t", columns, (), "append"), rows)
    assert [[row[name] for name in paths] for row in valid] == [
        ["1.10", 'a"1.50', '[{"sku":"a\\"1.50","n":12345678901234567890.10}]', None, None],
        [None] * 5,
    ]
    assert [row["_columns"] for row in refused] == [["price", "first", "lines", "gone"]] * 2
    assert refused[1]["_reasons"][0] == "[1] is not JSON in which price can be looked up"


def test_a_long_value_is_shown_in_part_and_kept_whole(spark: SparkSession) -> None:
    long = "9" * 2_000_000
    name = SilverColumn("name", "string", ("name",))
    rules = replace(ORDERS, columns=(ID, AMOUNT, name))
    valid, refused, _ = divide(spark, rules, [{"id": "1", "name": long}, {"id": "2", "amount": long, "name": "a"}])
    assert valid[0]["name"] == long
    assert refused[0]["amount"] == long
    assert len(refused[0]["_failures"][0]["value"]) == 200
    assert len(refused[0]["_reasons"][0]) < 300
