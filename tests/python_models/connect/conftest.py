from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.python_models.connect.served import client_of, granted, open_proxy
from tidegate.python_models.connect.plan_proxy import PlanProxy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def inputs(spark: SparkSession) -> Iterator[dict[str, str]]:
    orders = spark.sql("SELECT id AS id, CAST(id * 10 AS double) AS amount, concat('c', id % 2) AS city FROM range(4)")
    cities = spark.sql("SELECT 'c0' AS city, 'Oslo' AS name UNION ALL SELECT 'c1', 'Rome'")
    frames = {"ref shop.silver.orders": orders, "ref shop.silver.cities": cities, "landing_zone files": orders}
    with granted(spark, frames) as grants:
        yield grants


@pytest.fixture(scope="module")
def proxy(spark: SparkSession, inputs: dict[str, str]) -> Iterator[PlanProxy]:
    with open_proxy(spark, inputs) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(proxy: PlanProxy) -> Iterator[Any]:
    with client_of(proxy) as session:
        yield session
