"""Each text of bronze becomes the value that the case says, or is refused with its message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.transform.silver_cases import FOLDER, read_cases, results

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.parametrize("name", [path.name for path in sorted(FOLDER.glob("*.txt"))])
def test_texts_become_values_or_are_refused(spark: SparkSession, name: str) -> None:
    wrong = [
        f"{case.heading}: {text!r} gave {result!r}, expected {expected!r}"
        for case, found in results(spark, read_cases(FOLDER / name))
        for text, result, expected in zip(case.texts, found, case.expected, strict=True)
        if result != expected
    ]
    assert wrong == []
