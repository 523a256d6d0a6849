"""Chunked loads on S3 and a model over their table, in a process of its own: Spark learns of S3 when it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import QUICK_JVM
from tests.services.seaweed import BUCKET, KEY, SECRET_KEY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.services.seaweed import ObjectStore

pytestmark = pytest.mark.spark

SCRIPT = """
import json, sys
from pathlib import Path
from tests.chunks.all_jobs import run_all
from tidegate.config import load_settings
from tidegate.operations.query import query
from tidegate.operations.run import run_project
from tidegate.runs import RunOptions
from tidegate.storage import open_storage

folder = Path(sys.argv[1])
settings = load_settings(folder)
storage = open_storage(settings.chunks.root, settings.s3)

def load(name, rows):
    storage.write(f"bronze/orders/{name}", "".join(json.dumps(row) + "\\n" for row in rows).encode())
    return run_all(folder).exit_code

def built():
    (model,) = run_project(settings, RunOptions()).materializations
    (row,) = query(settings, "SELECT total FROM gold.sums").rows
    return model.run_type, row["total"]

ended = [load("a.json", [{"id": number, "amount": number} for number in range(1, 26)] + [{"id": None, "amount": 1}])]
outcomes = [built(), built()]
ended.append(load("b.json", [{"id": 1, "amount": 100}, {"id": 26, "amount": 26}]))
outcomes.append(built())
left = [file.path for file in storage.list() if not file.path.startswith(("silver/", "archived_bronze/"))]
(errors,) = query(settings, "SELECT count(*) AS n FROM silver.orders WHERE id IS NULL").rows
print("RESULT", json.dumps({"ended": ended, "built": outcomes, "left": left, "null_keys": errors["n"]}))
"""
TOML = f"""\
[project]
name = "shop"
[spark]
master = "local[2]"
memory = "1g"
[spark.conf]
"spark.driver.extraJavaOptions" = "{QUICK_JVM}"
[s3]
endpoint = "ENDPOINT"
[chunks]
root = "s3://{BUCKET}/loads"
default_chunk_size = 10
delta_client_batch_size = 15
[chunks.sources.orders]
contract = "orders.odcs.yml"
"""
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: orders
    properties:
      - {name: id, logicalType: integer, primaryKey: true, required: true}
      - {name: amount, logicalType: integer}
"""


def test_a_load_and_a_model_over_it_on_s3(tmp_path: Path, object_store: ObjectStore) -> None:
    (tmp_path / "models/gold").mkdir(parents=True)
    (tmp_path / "models/gold/sums.sql").write_text("SELECT sum(amount) AS total FROM silver.orders\n")
    (tmp_path / "tidegate.toml").write_text(TOML.replace("ENDPOINT", object_store.endpoint))
    (tmp_path / "orders.odcs.yml").write_text(CONTRACT)
    keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, **keys}, capture_output=True, text=True, check=False)
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
    assert line is not None, f"{done.stdout}\n{done.stderr}"
    result = json.loads(line.removeprefix("RESULT "))
    assert result["ended"] == [0, 0]
    assert result["built"] == [["backfill", 325], ["skip", 325], ["full", 325 + 99 + 26]]
    assert (result["left"], result["null_keys"]) == ([], 0)
    assert SECRET_KEY not in (tmp_path / ".tidegate/logs/spark.log").read_text()
