"""What is learnt of rows while they are written is the same whether all of them are looked at or Iceberg is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tidegate.names import TableName
from tidegate.project.model import ModelSettings
from tidegate.quality.column_profiles import Profile
from tidegate.quality.noted_values import noted_values
from tidegate.write import WriteRequest, write
from tidegate.write.observed_rows import survey_of
from tidegate.write.write_columns import columns_of

from .conftest import Branch

pytestmark = pytest.mark.spark

QUERY = """
SELECT id, IF(id % 3 = 0, NULL, CAST(id AS int)) AS some, CAST(id / 4 AS decimal(20, 5)) AS price, id / 7D AS share,
  IF(id = 5, float('-Infinity'), CAST(id AS float)) AS far, CAST(id / 10 - 3.3 AS float) AS tenth,
  CAST(id - 500 AS decimal(38, 20)) / 3 AS wide, CAST(NULL AS double) AS nothing, id % 2 = 0 AS even,
  concat(repeat('x', 70), id % 50) AS text, date_add(date'2024-01-01', CAST(id AS int)) AS day,
  timestamp'2024-01-01 10:00:00.5' + make_dt_interval(0, id) AS at, CAST('a' AS binary) AS bytes,
  IF(id % 2 = 0, array(id), NULL) AS list, map('a', id) AS pairs, id * 10 AS salary
FROM range(0, 1000, 1, 3)
"""


def profile(branch: Branch, name: str, expected_rows: int, **settings: Any) -> Profile:
    request = WriteRequest(
        branch.session,
        branch.lake,
        TableName("shop", "silver", name),
        branch.session.sql(QUERY),
        ModelSettings(**settings),
        run_started_at=datetime(2024, 1, 1, tzinfo=UTC),
        complete=False,
        hidden=frozenset({"salary"}),
        expected_rows=expected_rows,
        profiled=True,
    )
    counted = write(request).counted
    assert counted is not None
    return counted.profile(1000, None)


def test_many_rows_are_profiled_as_few_are(branch: Branch) -> None:
    few, many = profile(branch, "few", 0), profile(branch, "many", 10**9, partitioned_by=("even",))
    assert (many.rows, many.scope) == (1000, "table")
    for one, other in zip(few.columns, many.columns, strict=True):
        if one.type == "string":
            assert other == replace(one, distinct=None, min=None, max=None)
        elif one.type == "boolean":
            assert other == one
        else:
            # Iceberg leaves NaN out, which is more than any number.
            unknown = {"max": None} if one.type in ("double", "float") else {}
            mean = None if one.mean != "***" else one.mean
            assert other == replace(one, distinct=None, mean=mean, **unknown)


def test_the_files_say_what_iceberg_answers_to_a_query(branch: Branch) -> None:
    profile(branch, "noted", 10**9, partitioned_by=("even",))
    table = TableName("shop", "silver", "noted")
    asked = survey_of(columns_of(branch.session.table(table.quoted)), frozenset({"salary"}), many=True)
    queried = branch.session.sql(f"SELECT {asked.exact} AS answer FROM {table.quoted}").collect()[0]["answer"]
    noted = noted_values(asked, branch.lake.table(table), 1000)
    assert noted is not None
    rows = json.dumps({"rows": 1000, "columns": [{"values": 0}] * len(asked.columns)})
    assert asked.read(rows, "table", noted) == asked.read(rows, "table", queried)
    assert noted_values(asked, branch.lake.table(table), 999) is None
