"""What a model may take out of Spark: results that are too large end before the server holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.python_models.connect.served import client_of, open_proxy
from tidegate.config import SandboxSection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_more_rows_than_fit_end_before_all_are_made(spark: SparkSession) -> None:
    with open_proxy(spark, {}, SandboxSection(local_rows=32 * 2000)) as proxy, client_of(proxy) as client:
        assert len(client.range(2000).collect()) == 2000
        with pytest.raises(Exception, match="more than 2,000 rows"):
            client.range(1 << 40).collect()
