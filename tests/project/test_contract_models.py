"""A contract that drives data gives two models of the project: bronze and silver."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import Built, build, table
from tidegate.project import Strategy

CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: orders_source
    customProperties:
      - {property: connector, value: landing_push}
      - {property: source_system, value: shop}
      - {property: landing_directory, value: shop/orders}
      - {property: landing_file_format, value: csv}
      - {property: ingestion_read_strategy, value: incremental}
      - {property: bronze_table, value: orders}
    properties:
      - {name: orderId, logicalType: string}
      - {name: amount, logicalType: string}
      - {name: address, logicalType: string}
  - name: orders
    properties:
      - name: order_id
        physicalType: bigint
        logicalType: integer
        primaryKey: true
        transformSourceObjects: [orders_source.orderId]
      - name: amount
        physicalType: decimal(10,2)
        logicalType: number
        transformLogic: |
          -- commas of the shop
          replace(amount, ',', '.')
      - name: city
        logicalType: string
        transformSourceObjects: [orders_source.address.city]
"""
REVENUE = "SELECT city, sum(amount) AS revenue FROM silver.orders GROUP BY city"


def project(root: Path, contract: str = CONTRACT, **more: str) -> Built:
    files = {"contracts/orders.odcs.yml": contract, "landing/shop/orders/": "", "models/gold/revenue.sql": REVENUE}
    return build(root, {**files, **more})


def errors(built: Built) -> list[tuple[str, str, int]]:
    return [(d.code, d.message, d.span.line if d.span else 0) for d in built.compiled.errors]


def test_a_contract_gives_bronze_and_silver_in_the_order_to_build(tmp_path: Path) -> None:
    built = project(tmp_path)
    assert errors(built) == []
    assert built.compiled.waves == ((table("bronze.orders"),), (table("silver.orders"),), (table("gold.revenue"),))
    bronze, silver = (built.compiled.models[table(name)].model for name in ("bronze.orders", "silver.orders"))
    assert (bronze.settings.strategy, silver.settings.strategy) == (Strategy.APPEND_ONLY, Strategy.CURRENT_STATE)
    assert silver.settings.unique_key == ("order_id",)
    assert bronze.file == silver.file == "contracts/orders.odcs.yml"


def test_columns_types_and_lineage_go_through_a_contract(tmp_path: Path) -> None:
    models = project(tmp_path).compiled.models
    types = {column.name: column.type.text for column in models[table("silver.orders")].relation.columns}
    assert types == {
        "order_id": "bigint",
        "amount": "decimal(10,2)",
        "city": "string",
        "_commit_time": "timestamp",
        "_sequence": "string",
    }
    origins = {(edge.column, edge.origin.column) for edge in models[table("silver.orders")].edges}
    assert {("order_id", "orderId"), ("amount", "amount"), ("city", "address")} <= origins
    assert models[table("gold.revenue")].relation.columns[1].type.text == "decimal(20,2)"


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(CONTRACT.split("\n"), 1) if text in line)


@pytest.mark.parametrize(
    ("written", "instead", "code", "message", "at"),
    [
        ("decimal(10,2)", "decmal(10,2)", "InvalidContract", "is not one of Spark's", "decimal(10,2)"),
        ("replace(amount", "replce(amount", "UnknownFunction", "unknown function 'replce'", "transformLogic"),
        ("replace(amount", "java_method('a', amount", "CodeInQuery", "java_method runs code", "transformLogic"),
        ("landing_push", "landing_pusch", "InvalidContract", "'connector' must be one of", "landing_push"),
        ("source.orderId]", "source.order_id]", "InvalidContract", "which the source does not have", "source.orderId]"),
    ],
)
def test_a_mistake_is_reported_with_its_line(
    tmp_path: Path, written: str, instead: str, code: str, message: str, at: str
) -> None:
    (error,) = errors(project(tmp_path, CONTRACT.replace(written, instead)))
    assert (error[0], error[2]) == (code, line_of(at))
    assert message in error[1]


def test_every_mistake_is_reported_at_once_and_none_twice(tmp_path: Path) -> None:
    contract = CONTRACT.replace("decimal(10,2)", "decmal(10,2)").replace("landing_push", "landing_pusch")
    found = errors(project(tmp_path, contract))
    lines = [line_of("landing_push"), line_of("decimal(10,2)")]
    assert [(code, line) for code, _, line in found] == [("InvalidContract", line) for line in lines]


def test_a_contract_without_a_connector_makes_nothing(tmp_path: Path) -> None:
    contract = "\n".join(line for line in CONTRACT.splitlines() if "property:" not in line and "customP" not in line)
    built = project(tmp_path, contract, **{"models/gold/revenue.sql": "SELECT 1 AS id"})
    assert errors(built) == []
    assert list(built.compiled.models) == [table("gold.revenue")]


def test_a_model_and_a_contract_cannot_make_the_same_table(tmp_path: Path) -> None:
    sql = "SELECT 1 AS order_id, 1 AS amount, 'x' AS city"
    (error,) = project(tmp_path, **{"models/silver/orders.sql": sql}).compiled.errors
    assert (error.code, error.span.file if error.span else "") == ("DuplicateModel", "contracts/orders.odcs.yml")


def test_a_rule_that_changes_rows_changes_the_fingerprint_of_silver_alone(tmp_path: Path) -> None:
    other = CONTRACT.replace("logicalType: number\n", "logicalType: number\n        logicalTypeOptions: {minimum: 0}\n")
    before, after = (project(tmp_path / str(at), text).compiled.models for at, text in enumerate((CONTRACT, other)))
    same = {name for name in before if before[name].fingerprint == after[name].fingerprint}
    assert same == {table("bronze.orders"), table("gold.revenue")}


def test_models_may_read_what_a_contract_quarantines(tmp_path: Path) -> None:
    sql = "SELECT _stage, f.column, f.value, amount FROM silver.orders__quarantine LATERAL VIEW explode(_failures) AS f"
    built = project(tmp_path, **{"models/gold/refused.sql": sql})
    assert errors(built) == []
    types = [column.type.text for column in built.compiled.models[table("gold.refused")].relation.columns]
    assert types == ["string", "string", "string", "string"]


GOLD = """apiVersion: v3.1.0
kind: DataContract
id: revenue
version: 1.0.0
status: active
customProperties:
  - {property: generator_notebook, value: notebooks/revenue.ipynb}
schema:
  - name: revenue
    properties:
      - {name: city, logicalType: string, required: true}
      - {name: revenue, physicalType: "decimal(10,2)", logicalType: number}
"""


def test_a_contract_of_a_gold_table_holds_for_the_model_that_makes_it(tmp_path: Path) -> None:
    built = project(tmp_path, **{"contracts/revenue.odcs.yml": GOLD, "notebooks/revenue.ipynb": "{}"})
    assert {code for code, _, _ in errors(built)} == {"ContractNullable", "ContractColumnType"}
