"""Spark's JVM dies under a model: it is started again, what was not built is built, and the model to blame is named.

Without Spark, the same is in test_builder_dies.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import QUICK_JVM
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.state import open_reader

KILLER = """
import os, pathlib, signal, sys, threading
root = pathlib.Path(sys.argv[1])
tick = threading.Event()
while not (root / "beside").exists():
    tick.wait(0.02)
for entry in pathlib.Path("/proc").iterdir():
    try:
        line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
    except OSError:
        continue
    if b"/java" in line.split(b"\\0")[0] and str(root / ".tidegate").encode() in line:
        os.kill(int(entry.name), signal.SIGKILL)
"""


def write_project(root: Path) -> None:
    """The JVM is killed whenever `a.hungry` is about to be written; the first time, `a.beside` has a job running."""
    (root / "kill.py").write_text(KILLER)
    command = json.dumps([sys.executable, str(root / "kill.py"), str(root)])
    (root / "tidegate.toml").write_text(
        '[project]\nname = "shop"\n[spark]\nmemory = "1g"\nmaster = "local[2]"\n[run]\nconcurrency = 2\n'
        f'[spark.conf]\n"spark.driver.extraJavaOptions" = "{QUICK_JVM}"\n'
        f'[[hooks]]\nname = "oom"\nevents = ["before_materialize"]\nmodels = ["a.hungry"]\ncommand = {command}\n'
        '[[hooks]]\nname = "begun"\nevents = ["before_materialize"]\nmodels = ["a.beside"]\ncommand = "touch beside"\n'
    )
    models = {
        "a/beside": "SELECT count(*) AS x FROM range(300000) WHERE sha2(CAST(id AS string), 512) LIKE '0000000000%'",
        "a/hungry": "SELECT count(*) AS n FROM range(1000)",
        "a/second": "SELECT 2 AS x",
        "b/below_hungry": "SELECT n FROM a.hungry",
        "b/below_second": "SELECT x FROM a.second",
    }
    for name, sql in models.items():
        (root / "models" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "models" / f"{name}.sql").write_text(sql)


def run(root: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tidegate", "run", "--json", "--project", str(root)]
    env = {**os.environ, "TIDEGATE_NO_CLASS_ARCHIVE": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=300)
    document: dict[str, Any] = json.loads(done.stdout)
    return {**document, "code": done.returncode, "said": done.stderr}


@pytest.mark.spark
@pytest.mark.alone
def test_a_jvm_that_dies_is_started_again_and_the_model_under_which_it_dies_alone_fails(tmp_path: Path) -> None:
    """What was built beside it when the JVM died first is built in the end."""
    write_project(tmp_path)
    document = run(tmp_path)
    by_model = {m["model"]: m for m in document["materializations"]}
    assert {name: m["status"] for name, m in by_model.items()} == {
        "a.beside": "completed",
        "a.hungry": "failed",
        "a.second": "completed",
        "b.below_hungry": "blocked",
        "b.below_second": "completed",
    }, document["said"]
    assert document["said"].count("Spark's JVM ended (killed by signal 9") == 2
    hungry = by_model["a.hungry"]
    assert "Spark's JVM ended (killed by signal 9" in document["said"]
    assert "Spark's JVM ended while this model was built" in hungry["error"]
    assert "[spark] memory, now 1g" in hungry["remedy"]
    assert hungry["duration_ms"] >= sum(hungry["phases"].values()) > 0
    assert {"config_loading", "iceberg_write"} <= hungry["phases"].keys()
    assert (hungry["run_type"], hungry["reason"]) == ("backfill", "first run")
    (attempt,) = hungry["attempts"]
    assert (attempt["failure_kind"], attempt["error"]) == (hungry["failure_kind"], hungry["error"])
    assert (document["code"], document["status"]) == (2, "partial")
    assert set(document["publish"]["tables"]) == {"a.beside", "a.second", "b.below_second"}
    settings = load_settings(tmp_path)
    assert open_catalog(settings).list_branches() == ()
    with open_reader(settings.state.url) as state:
        assert state.runs(1)[0].status == "partial"
