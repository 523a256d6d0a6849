"""Hand-made forms in, answers out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tidegate.checks.check_values import (
    AggregateRule,
    Check,
    CheckRule,
    GroupRule,
    QueryRule,
    RowRule,
    Stage,
    StaticRule,
)
from tidegate.problems import Place
from tidegate.quality import CheckAnswer, CheckQuery, evaluate_checks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = "(SELECT * FROM VALUES (1, 'a', 5.0D), (2, 'b', NULL), (3, 'b', -1.0D), (4, NULL, -2.0D) AS t(id, name, amount))"
NONE = f"(SELECT * FROM {ROWS} WHERE false)"
POSITIVE = RowRule("amount <= 0", "amount > 0", ("amount",))
SLOW = "(SELECT count(*) FROM range(3000000) a JOIN range(3000000) b ON hash(a.id) % 7 >= hash(b.id) % 5)"


def asked(form: CheckRule, timeout: timedelta | None = None, **where: str) -> CheckQuery:
    return CheckQuery(Check("c", Stage.BEFORE_PUBLISH, Place("m.sql"), timeout=timeout), form, **where)


def answers(
    session: SparkSession, *forms: CheckRule, relation: str = ROWS, **options: object
) -> tuple[CheckAnswer, ...]:
    return evaluate_checks(session, relation, [asked(form) for form in forms], **options)  # type: ignore[arg-type]


def told(*found: CheckAnswer) -> list[tuple[str, object]]:
    return [(one.status, one.value) for one in found]


def mean(column: str, passes: str) -> AggregateRule:
    return AggregateRule((("value", f"avg({column})"),), "value", passes, f"mean of {column} {passes}")


def test_a_row_rule_counts_the_rows_that_break_it_and_shows_each_of_few(spark: SparkSession) -> None:
    (found,) = answers(spark, POSITIVE, keys=("id",))
    assert told(found) == [("failed", 2)]
    assert sorted(found.samples, key=str) == [{"amount": -1.0, "id": 3}, {"amount": -2.0, "id": 4}]
    assert found.expected == "amount > 0"


def test_no_more_than_five_of_many_rows_are_shown_and_no_row_twice(spark: SparkSession) -> None:
    (found,) = answers(spark, RowRule("id >= 0", "negative"), relation="range(1000)")
    assert found.value == 1000
    assert 2 <= len(found.samples) <= 5
    assert len({sample["id"] for sample in found.samples}) == len(found.samples)


def test_a_condition_that_is_null_breaks_no_rule_and_an_empty_table_has_no_row_that_could(spark: SparkSession) -> None:
    rule = RowRule("NOT (name = 'b')", "b", ("name",))
    assert told(*answers(spark, rule)) == [("failed", 1)]
    assert told(*answers(spark, rule, relation=NONE)) == [("passed", 0)]


def test_measures_of_one_pass_have_their_own_names_and_null_does_not_pass(spark: SparkSession) -> None:
    forms = (mean("id", "value = 2.5"), mean("amount", "value > 0"), StaticRule(False, "no", "yes"))
    expected = [("passed", 2.5), ("passed", pytest.approx(2 / 3)), ("failed", "no")]
    assert told(*answers(spark, *forms)) == expected
    assert told(*answers(spark, *forms[:2], relation=NONE)) == [("failed", None), ("failed", None)]


def test_exact_measures_are_answered_beside_the_others(spark: SparkSession) -> None:
    def exact(text: str, passes: str) -> AggregateRule:
        return AggregateRule((("value", text),), "value", passes, "x", exact=True)

    forms = (
        exact("count(DISTINCT name)", "value = 2"),
        exact("percentile(id, 0.5)", "value > 9"),
        exact("count(id) - count(DISTINCT name)", "value = 2"),
        mean("id", "value = 2.5"),
    )
    found = answers(spark, *forms)
    assert told(*found) == [("passed", 2), ("failed", 2.5), ("passed", 2), ("passed", 2.5)]


def test_a_table_is_compared_with_itself_as_it_was_and_without_a_past_with_nothing(spark: SparkSession) -> None:
    grown = AggregateRule((("n", "count(*)"),), "n - past_n", "past_n IS NULL OR n = past_n", "as many", past=True)
    assert told(*answers(spark, grown, POSITIVE, past=NONE)) == [("failed", 4), ("failed", 2)]
    assert told(*answers(spark, grown, past=ROWS)) == [("passed", 0)]
    assert told(*answers(spark, grown)) == [("passed", None)]


def unique(*keys: str) -> GroupRule:
    only = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    return GroupRule(keys, only, (("broken", "count_if(n > 1)"),), "broken", "broken = 0", "unique", "n > 1")


def test_groups_are_counted_and_the_broken_ones_shown(spark: SparkSession) -> None:
    first, second = answers(spark, unique("`name`"), unique("`id`", "`name`"))
    assert told(first, second) == [("failed", 1), ("passed", 0)]
    assert first.samples == ({"name": "b", "n": 2},)


def test_only_groups_of_concerned_keys_are_looked_at_but_in_the_whole_table(spark: SparkSession) -> None:
    table = "(SELECT * FROM VALUES ('a'), ('a'), ('b'), ('b'), ('c') AS t(name))"
    batch = "(SELECT * FROM VALUES ('b'), ('c') AS t(name))"
    alone, concerned = evaluate_checks(
        spark, table, [asked(unique("`name`")), asked(unique("`name`"), concerning=batch)]
    )
    assert told(alone, concerned) == [("failed", 2), ("failed", 1)]
    assert concerned.samples == ({"name": "b", "n": 2},)


def test_queries_stand_for_themselves_and_name_the_relation(spark: SparkSession) -> None:
    orphans = QueryRule("SELECT id FROM {table} WHERE id > 2", "none")
    many = QueryRule("SELECT * FROM range(5000)", "none")
    fine = QueryRule("SELECT * FROM {table} WHERE id > 9", "none")
    found = answers(spark, orphans, many, fine)
    assert told(*found) == [("failed", 2), ("failed", 5000), ("passed", 0)]
    assert found[0].samples == ({"id": 3}, {"id": 4})
    assert len(found[1].samples) == 5


def test_what_breaks_one_check_breaks_no_other(spark: SparkSession) -> None:
    forms = (
        POSITIVE,
        RowRule("CAST(name AS INT) > 1", "a number"),
        AggregateRule((("value", "sum(missing)"),), "value", "value > 0", "x"),
        mean("id", "value > 0"),
        QueryRule("SELEC 1", "x"),
    )
    found = answers(spark, *forms)
    assert [one.status for one in found] == ["failed", "error", "error", "passed", "error"]
    assert found[0].value == 2
    assert "'a'" in (found[1].error or "")
    assert "missing" in (found[2].error or "")


def test_what_is_late_is_an_error_and_the_rest_is_answered(spark: SparkSession) -> None:
    second = timedelta(seconds=1)
    slow = QueryRule(f"SELECT * FROM {SLOW} AS t(n) WHERE n < 0", "none")
    late = asked(slow, second)
    minute = timedelta(minutes=1)
    found = evaluate_checks(spark, ROWS, [late, asked(POSITIVE), asked(mean("id", "value > 0"))], timeout=minute)
    assert [one.status for one in found] == ["error", "failed", "passed"]
    assert found[0].error == "not done after 1s"


def test_a_check_of_a_shared_pass_that_may_not_take_so_long_leaves_the_others_to_theirs(spark: SparkSession) -> None:
    instant = asked(mean("id", "value > 0"), timedelta(microseconds=1))
    found = evaluate_checks(spark, ROWS, [instant, asked(POSITIVE)])
    assert [one.status for one in found] == ["error", "failed"]


def test_hidden_columns_are_not_shown_by_any_form(spark: SparkSession) -> None:
    forms = (
        RowRule("amount <= 0", "positive", ("Name", "amount")),
        unique("`name`"),
        unique("upper(name)"),
        QueryRule("SELECT * FROM {table} WHERE id >= 3", "none"),
        AggregateRule((("value", "max(name)"),), "value", "value = 'b'", "x", of="Name"),
        AggregateRule((("value", "max(name)"),), "value", "value = 'c'", "x", of="name"),
        AggregateRule((("value", "count(name)"),), "value", "value = 3", "x"),
    )
    found = answers(spark, *forms, hidden=frozenset({"NAME"}))
    assert {sample["name"] for sample in found[0].samples} == {"***", None}
    assert found[1].samples == ({"name": "***", "n": 2},)
    assert found[2].samples == ({"upper(name)": "***", "n": 2},)
    assert [sample["name"] for sample in found[3].samples] == ["***", None]
    assert "'b'" not in str(found)
    assert told(*found[4:]) == [("passed", "***"), ("failed", "***"), ("passed", 3)]
    nothing = AggregateRule((("value", "max(name)"),), "value", "value = 'b'", "x", of="name")
    assert told(*answers(spark, nothing, relation=NONE, hidden=frozenset({"name"}))) == [("failed", None)]


def test_samples_hold_values_of_every_type(spark: SparkSession) -> None:
    rows = "(SELECT 1 AS id, map('k', 1) AS m, array(1.5D) AS a, DATE '2026-01-31' AS d, 1.50BD AS x, X'00ff' AS b)"
    rule = RowRule("id = 1", "other", ("m", "a", "d", "x", "b"))
    (found,) = answers(spark, rule, relation=rows)
    assert found.samples == ({"m": {"k": 1}, "a": [1.5], "d": "2026-01-31", "x": "1.50", "b": "00ff", "id": 1},)


def test_a_table_without_a_check_is_not_read(spark: SparkSession) -> None:
    assert evaluate_checks(spark, "no.such.table", []) == ()
    assert told(*answers(spark, StaticRule(True, "int", "int"), relation="no.such.table")) == [("passed", "int")]
