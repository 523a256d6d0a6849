from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def delta(spark: SparkSession) -> SparkSession:
    from tests.services.delta import delta_session

    return delta_session(spark)
