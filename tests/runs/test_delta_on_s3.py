"""A project whose chunked loads are on S3, in a process of its own: Spark learns of it when it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import QUICK_JVM
from tests.runs.test_chunk_tables import SOURCES
from tests.services.seaweed import BUCKET, KEY, SECRET_KEY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.services.seaweed import ObjectStore

pytestmark = pytest.mark.spark

SCRIPT = """
import json, sys
from pathlib import Path
from tidegate.config import load_settings
from tidegate.operations.query import query
from tidegate.runs import RunOptions
from tidegate.operations.run import run_project
from tidegate.sources.chunk_tables import chunk_tables
from tidegate.spark.session import open_spark

settings = load_settings(Path(sys.argv[1]))
session = open_spark(settings)
(table,) = chunk_tables(settings).values()

def add(rows):
    session.sql(rows).write.format("delta").mode("append").save(table.spark_path)

def built():
    (model,) = run_project(settings, RunOptions()).materializations
    (row,) = query(settings, "SELECT total FROM gold.sums").rows
    return model.run_type, row["total"]

add("SELECT 1 AS id, 20 AS amount UNION ALL SELECT 2, 22")
first = built(), built()
add("SELECT 3 AS id, 58 AS amount")
conf = {key: value for key, value in session.sparkContext.getConf().getAll() if "s3a" in key}
print("RESULT", json.dumps({"built": [*first, built()], "path": table.spark_path, "conf": conf}))
"""


def test_a_model_reads_a_table_on_s3(tmp_path: Path, object_store: ObjectStore) -> None:
    (tmp_path / "models/gold").mkdir(parents=True)
    (tmp_path / "models/gold/sums.sql").write_text("SELECT sum(amount) AS total FROM silver.dataset_1\n")
    (tmp_path / "tidegate.toml").write_text(
        f'[project]\nname = "shop"\n\n[spark]\nmaster = "local[2]"\nmemory = "1g"\n[spark.conf]\n'
        f'"spark.driver.extraJavaOptions" = "{QUICK_JVM}"\n'
        f'[s3]\nendpoint = "{object_store.endpoint}"\n[chunks]\nroot = "s3://{BUCKET}/loads"\n{SOURCES}'
    )
    keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={**os.environ, **keys},
        capture_output=True,
        text=True,
        check=False,
    )
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
    assert line is not None, f"{done.stdout}\n{done.stderr}"
    result = json.loads(line.removeprefix("RESULT "))
    assert result["built"] == [["backfill", 42], ["skip", 42], ["full", 100]]
    assert result["path"] == f"s3a://{BUCKET}/loads/silver/dataset_1/records.delta"
    assert SECRET_KEY not in str(result["conf"])
    assert SECRET_KEY not in (tmp_path / ".tidegate/logs/spark.log").read_text()
