"""Airflow can parse the example of docs/airflow, and its tasks are mapped over the work that there is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidegate.config.paths import cache_folder

EXAMPLE = Path(__file__).parents[2] / "docs/airflow"
AIRFLOW = "apache-airflow==3.3.*"
LOOK = """
import json
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(%r)
tasks = {
    task.task_id: [type(task).__name__, sorted(task.upstream_task_ids)]
    for dag in bag.dags.values()
    for task in dag.tasks
}
errors = {str(file): str(error) for file, error in bag.import_errors.items()}
print(json.dumps({"errors": errors, "dags": list(bag.dags), "tasks": tasks}))
"""


@pytest.mark.skipif(not os.environ.get("TIDEGATE_PROVE"), reason="installs Airflow in an environment of its own")
def test_airflow_parses_the_example(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYTHONPATH": "",
    }
    done = subprocess.run(
        [str(airflow_python()), "-c", LOOK % str(EXAMPLE)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["errors"], found["dags"]) == ({}, ["chunked_loads"])
    tasks = found["tasks"]
    assert {name for name, (kind, _) in tasks.items() if "Mapped" in kind} == {"chunk", "process", "load"}
    assert {name: above for name, (_, above) in tasks.items()} == {
        "files_to_chunk": [],
        "chunk": ["files_to_chunk"],
        "files_to_process": ["chunk"],
        "process": ["files_to_process"],
        "tables_to_load": ["process"],
        "load": ["tables_to_load"],
    }


def airflow_python() -> Path:
    """Of an environment that is made once and kept in the cache folder."""
    folder = cache_folder() / "tests" / f"airflow-3.3-{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin/python"
    if not (folder / ".installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, timeout=120)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", AIRFLOW]
        subprocess.run(pip, check=True, timeout=900)
        (folder / ".installed").touch()
    return python
