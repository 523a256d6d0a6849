"""What a name in `transformSourceObjects` means, which is the same for the checks of a contract and for its run."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.contracts.element import Element
from tidegate.contracts.source_columns import source_column, source_path

ORDERS: dict[str, Any] = {
    "name": "orders",
    "physicalName": "dbo.Orders",
    "properties": [
        {"name": "id", "physicalName": "ORDER_ID"},
        {"name": "orders"},
        {"name": "buyer", "properties": [{"name": "name", "properties": [{"name": "first"}]}]},
        {"name": "lines", "items": {"properties": [{"name": "sku"}]}},
    ],
}


@pytest.mark.parametrize(
    ("origin", "path"),
    [
        ("id", ("ORDER_ID",)),
        ("order_id", ("ORDER_ID",)),
        ("orders.id", ("ORDER_ID",)),
        ("dbo.Orders.Id", ("ORDER_ID",)),
        ("orders", ("orders",)),
        ("orders.orders", ("orders",)),
        ("orders.city", ("orders", "city")),
        ("orders.buyer.name.first", ("buyer", "name", "first")),
        ("buyer.name.last", None),
        ("buyer.nme", None),
        ("lines.0.sku", ("lines", "0", "sku")),
        ("lines.0", ("lines", "0")),
        ("lines.0.price", None),
        ("shop.id", None),
        ("state", None),
    ],
)
def test_a_source_that_lists_its_columns(origin: str, path: tuple[str, ...] | None) -> None:
    assert source_path(Element(ORDERS), origin) == path


def test_a_source_that_lists_none_has_any() -> None:
    source = Element({"name": "orders"})
    assert [source_path(source, text) for text in ("orders.a.b", "a.b")] == [("a", "b"), ("a", "b")]
    assert [source_column(source, "a.b"), source_column(Element(ORDERS), "a.b")] == ["a.b", None]
