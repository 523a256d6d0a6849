"""SQL texts and expressions inside plans: nothing but one SELECT over granted views passes, in whatever spelling."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.connect.proto import expressions_pb2, relations_pb2

from tests.python_models.connect.checked import checked, plan_check, refusal_of
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError

CASES = Path(__file__).parents[2] / "cases"


def blocks(name: str) -> list[str]:
    return [block.strip("\n") for block in (CASES / name).read_text().split("\n---\n") if block.strip()]


def sql(text: str) -> relations_pb2.Relation:
    """With a DataFrame of the name `frame` beside it."""
    frame = relations_pb2.Relation(subquery_alias={"input": {"range": {"end": 1}}, "alias": "frame"})
    query = relations_pb2.Relation(sql=relations_pb2.SQL(query=text))
    return relations_pb2.Relation(with_relations=relations_pb2.WithRelations(root=query, references=[frame]))


def expression(text: str) -> expressions_pb2.Expression:
    return expressions_pb2.Expression(expression_string=expressions_pb2.Expression.ExpressionString(expression=text))


REFUSED = blocks("connect/refused_sql.txt") + blocks("attacks/statements.txt")
EXPRESSIONS = (CASES / "attacks" / "expressions.txt").read_text().splitlines()


@pytest.mark.parametrize("text", REFUSED)
def test_is_refused(text: str) -> None:
    assert refusal_of(sql(text))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression_is_refused(text: str) -> None:
    assert refusal_of(expression(text))
    assert refusal_of(sql(f"SELECT id, {text} AS x FROM silver.orders"))


@pytest.mark.parametrize(
    "text",
    [
        "1 FROM gold.secrets",
        "1, 2",
        "1 WHERE true",
        "1; SELECT 2",
        "1) FROM gold.secrets --",
        "(SELECT max(a) FROM gold.secrets)",
        "(SELECT max(a) FROM frame)",
        "DISTINCT 1",
        "/*+ BROADCAST(a) */ 1",
        "1 UNION SELECT 2",
        "1 ORDER BY 1",
        "1 LIMIT 1",
        "",
        "a AS b FROM silver.orders",
        "input_file_name()",
        "exists(SELECT * FROM csv.`/etc/passwd`)",
        "(" * 5000 + "1" + ")" * 5000,
    ],
)
def test_what_is_more_than_an_expression_is_refused(text: str) -> None:
    assert refusal_of(expression(text))


def test_an_expression_may_read_what_is_granted() -> None:
    bound = checked(expression("amount = (SELECT max(amount) FROM silver.orders)")).expression_string.expression
    assert bound == "amount = (SELECT max(amount) FROM `global_temp`.`view_orders` AS `orders`)"


@pytest.mark.parametrize("case", blocks("connect/bound_sql.txt"))
def test_names_become_views(case: str) -> None:
    text, expected = case.split("\n=> ")
    assert checked(sql(text)).with_relations.root.sql.query == expected


def test_a_refusal_lists_what_the_model_declares() -> None:
    message = refusal_of(sql("SELECT * FROM gold.secrets"))
    assert message.startswith("the model reads gold.secrets, which it does not declare; it declares silver.orders, ")
    assert 'tg.landing_zone("files")' in message


def test_a_frame_needs_a_plain_name() -> None:
    plan = sql("SELECT * FROM frame")
    plan.with_relations.references[0].subquery_alias.alias = "gold.secrets"
    assert "no plain name" in refusal_of(plan)


def test_texts_of_one_plan_are_counted_together() -> None:
    def plan(count: int) -> relations_pb2.Relation:
        text = expressions_pb2.Expression(expression_string={"expression": f"'{'x' * 60_000}'"})
        one = relations_pb2.Relation(range=relations_pb2.Range(end=1, step=1))
        return relations_pb2.Relation(project=relations_pb2.Project(input=one, expressions=[text] * count))

    check = plan_check()
    for _ in range(3):
        check.check(plan(4))
    with pytest.raises(CallRefusedError, match="the SQL of one plan"):
        check.check(plan(5))


def test_a_plan_is_not_read_on_when_nobody_waits_for_it() -> None:
    read = 0

    def wanted() -> None:
        nonlocal read
        read += 1
        if read == 3:
            raise CallRefusedError("CANCELLED", "the model was ended")

    plan = relations_pb2.Relation(range=relations_pb2.Range(end=1, step=1))
    for _ in range(5):
        plan = relations_pb2.Relation(limit=relations_pb2.Limit(input=plan, limit=1))
    with pytest.raises(CallRefusedError, match="ended"):
        plan_check(wanted=wanted).check(plan)
    assert read == 3
