from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def delta(spark: SparkSession) -> Iterator[SparkSession]:
    from tests.services.delta import delta_session

    yield delta_session(spark)
    gc.collect()  # while the JVM is there: what Python still refers to in it is released by calls
