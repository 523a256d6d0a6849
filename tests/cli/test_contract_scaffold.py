"""`tidegate contract scaffold`: a valid contract from a file, a table of the lake or a table of a source."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.calling import Call
from tidegate.contracts import OpenDataContractStandard
from tidegate.contracts.connectors import CONNECTORS
from tidegate.contracts.ingestion import Ingestion
from tidegate.contracts.read_ingestion import read_ingestion
from tidegate.contracts.stage_contract import StageContract
from tidegate.datatypes import STRING, Column, DataType, array, decimal, map_of, parse_type, struct
from tidegate.operations.contract_tools.contract_scaffold import scaffold_contract
from tidegate.operations.contract_tools.scaffold_origins import ScaffoldOrigin

ORDERS = """orderId,amount,orderedAt,day,paid,note,code
1,12.50,2026-01-01T10:00:00Z,2026-01-01,true,,007
2,-3,2026-01-02 10:00:00,2026-01-02,FALSE,"two, three",008
3,N/A,,,,x,
"""


def ingestion(text: str) -> Ingestion:
    made = OpenDataContractStandard.from_string(text)
    assert all((made.validate_for_landing(), made.validate_for_bronze(), made.validate_for_silver()))
    value = read_ingestion(StageContract(yaml.safe_load(text)))
    assert value is not None
    return value


def types(value: Ingestion) -> dict[str, str]:
    return {column.name: column.type for column in value.silver.columns}


def test_a_landing_file_gives_names_types_and_a_key(project: Path, tidegate: Call) -> None:
    zone = project / "landing" / "shop" / "orders"
    zone.mkdir(parents=True)
    (zone / "day-1.csv").write_text(ORDERS)
    outcome = tidegate("contract", "scaffold", "landing/shop/orders/day-1.csv")
    file = project / "contracts" / "orders.odcs.yml"
    assert outcome.code == 0, outcome.err
    assert f"{file}: 7 columns, key: order_id" in outcome.out
    value = ingestion(file.read_text())
    assert (value.source.connector.name, value.source.zone, value.source.format) == (
        "landing_push",
        "shop/orders",
        "csv",
    )
    assert (value.source.table, value.silver.table, value.silver.key) == ("orders", "orders", ("order_id",))
    assert types(value) == {
        "order_id": "bigint",
        "amount": "decimal(18,2)",
        "ordered_at": "timestamp",
        "day": "date",
        "paid": "boolean",
        "note": "string",
        "code": "string",
    }
    assert value.silver.columns[0].origin == ("orderId",)
    assert tidegate("contract", "validate").code == 0


def test_a_file_that_is_there_is_overwritten_only_with_force(project: Path, tidegate: Call) -> None:
    (project / "a.csv").write_text("id,name\n1,x\n")
    mine = project / "mine.odcs.yml"
    mine.write_text("mine\n")
    refused = tidegate("contract", "scaffold", "a.csv", "--output", "mine.odcs.yml")
    assert refused.code == 1
    assert "is there already" in refused.err
    assert "--force" in refused.err
    assert mine.read_text() == "mine\n"
    assert tidegate("contract", "scaffold", "a.csv", "--output", "mine.odcs.yml", "--force").code == 0
    assert ingestion(mine.read_text()).silver.key == ("id",)


def test_objects_of_json_become_columns_with_their_lineage(
    tmp_path: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = [{"orderId": 1, "customer": {"name": "A", "since": "2020-01-01"}, "lines": [{"n": 1}], "total": 1.5}]
    (tmp_path / "page.json").write_text(json.dumps({"count": 1, "results": page}))
    document = tidegate(
        "contract", "scaffold", "page.json", "--connector", "rest", "--key", "orderId", "--output", "-", "--json"
    ).document
    value = ingestion(document["text"])
    assert document["key"] == ["order_id"]
    assert (value.source.content_path, value.source.multiline) == ("results", True)
    assert types(value) == {
        "order_id": "bigint",
        "customer_name": "string",
        "customer_since": "date",
        "lines": "array<struct<n:bigint>>",
        "total": "decimal(18,1)",
    }
    assert value.silver.columns[2].origin == ("customer", "since")
    assert not list(tmp_path.glob("*.yml"))


def test_parquet_files_declare_their_types(tmp_path: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = {
        "id": pa.array([1], pa.int32()),
        "price": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
        "at": pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        "tags": pa.array([["a"]], pa.list_(pa.string())),
        "shipping": pa.array([{"city": "X", "days": 3}], pa.struct([("city", pa.string()), ("days", pa.uint64())])),
    }
    pyarrow.parquet.write_table(pa.table(row), tmp_path / "sales.parquet")
    assert tidegate("contract", "scaffold", "sales.parquet", "--connector", "files", "--name", "Sale").code == 0
    value = ingestion((tmp_path / "sale.odcs.yml").read_text())
    assert (value.source.connector.name, value.source.format) == ("files", "parquet")
    assert types(value) == {
        "id": "int",
        "price": "decimal(9,2)",
        "at": "timestamp",
        "tags": "array<string>",
        "shipping_city": "string",
        "shipping_days": "decimal(20,0)",
    }


def test_a_table_of_a_source_gives_the_columns_it_declares(project: Path, tidegate: Call) -> None:
    (project / "tidegate.toml").write_text(
        '[project]\nname = "shop"\n[sources.erp]\nkind = "manual"\n'
        '[sources.erp.tables."dbo.Orders"]\ncolumns = { OrderID = "bigint not null", Amount = "decimal(10,2)" }\n'
    )
    outcome = tidegate("contract", "scaffold", "erp.dbo.Orders", "--connector", "sqlserver")
    assert outcome.code == 0, outcome.err
    value = ingestion((project / "contracts" / "orders.odcs.yml").read_text())
    assert (value.source.source, value.source.physical_name) == ("erp", "dbo.Orders")
    assert types(value) == {"order_id": "bigint", "amount": "decimal(10,2)"}
    unknown = tidegate("contract", "scaffold", "erp.dbo.Order")
    assert unknown.code == 1
    assert "Did you mean erp.dbo.Orders" in unknown.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.json", b"{]", "JSON"),
        ("a.json", b"[1, 2]", "has no objects"),
        ("a.parquet", b"PAR1 no", "cannot be read as Parquet"),
        ("a.xlsx", b"x", "format of 'a.xlsx' is not known"),
        ("a.csv", b"x.y\n1\n", "has no columns that a contract can name"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_clear_error(
    tmp_path: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    outcome = tidegate("contract", "scaffold", name)
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.err
    assert not list(tmp_path.glob("*.yml"))


def test_what_is_not_there_is_a_clear_error(project: Path, tidegate: Call) -> None:
    assert "there is no file 'orders.csv'" in tidegate("contract", "scaffold", "orders.csv").err
    assert "There is no published table 'silver.orders'" in tidegate("contract", "scaffold", "silver.orders").err
    (project / "a.csv").write_text("id,name\n1,x\n")
    assert "Did you mean rest?" in tidegate("contract", "scaffold", "a.csv", "--connector", "rset").err
    assert "Did you mean 'name'?" in tidegate("contract", "scaffold", "a.csv", "--key", "nam").err


kinds = st.recursive(
    st.sampled_from([STRING, decimal(10, 2), *filter(None, map(parse_type, ("bigint", "binary", "date", "void")))]),
    lambda inner: (
        st.builds(array, inner)
        | st.builds(map_of, st.just(STRING), inner)
        | st.builds(struct, st.lists(st.tuples(st.text(max_size=5), inner), max_size=3))
    ),
    max_leaves=5,
)


@given(
    st.lists(st.tuples(st.text(max_size=8), kinds, st.sampled_from([None, False])), min_size=1, max_size=6),
    st.sampled_from(sorted(CONNECTORS)),
    st.text(max_size=8),
)
def test_whatever_the_columns_are_called_the_contract_is_valid(
    columns: list[tuple[str, DataType, Any]], connector: str, name: str
) -> None:
    named = (Column("id", STRING), *(Column(*column) for column in columns))
    made = scaffold_contract(ScaffoldOrigin("a table", name, named, "jdbc", distinct=frozenset({"id"})), connector)
    value = ingestion(made.text)
    assert value.silver.key == ("id",)
    assert len(value.silver.columns) == made.columns
