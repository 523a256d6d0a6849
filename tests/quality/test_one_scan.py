"""Twenty checks of a table, and functions of a project with them, read it once, as Spark's own event log tells; samples
are looked for where some fail."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import QUICK_JVM

pytestmark = pytest.mark.spark

PROGRAM = """
import sys
from pathlib import Path
from tidegate.checks.values import Check, ColumnName, FunctionRule, Measure, RowRule, Stage
from tidegate.config import SparkSection
from tidegate.lake.embedded import EmbeddedCatalog
from tidegate.problems import Place
from tidegate.quality import Asked, measure
from tidegate.spark.session import child_session, start_session

work = Path(sys.argv[1])
conf = {{"spark.eventLog.enabled": "true", "spark.eventLog.dir": (work / "events").as_uri(),
        "spark.eventLog.compress": "false", "spark.driver.extraJavaOptions": "{jvm}"}}
root = start_session(SparkSection(master="local[2]", memory="1g", conf=conf), work / "logs")
catalog = EmbeddedCatalog(work / "catalog.db", work / "warehouse")
catalog.create_branch("b")
session = child_session(root, catalog.spark_conf("b"), catalog.spark_catalog("b"))
session.sql("CREATE NAMESPACE IF NOT EXISTS shop")
session.sql("CREATE NAMESPACE IF NOT EXISTS shop.silver")
columns = ", ".join(f"id + {{n}} AS c{{n}}" for n in range(10))
session.sql(f"CREATE TABLE shop.silver.t USING iceberg AS SELECT {{columns}} FROM range(0, 1000, 1, 4)")
SOURCE = "def most(column, least=0):\\n    return column >= least"
means = [Measure((("value", f"avg(c{{n}})"),), "value", "value > 0", "x") for n in range(10)]

def ask(least):
    rules = [RowRule(f"c{{n}} < {{least}}", "x", (f"c{{n}}",)) for n in range(10)]
    given = [(("column", ColumnName(f"c{{n}}")), ("least", least)) for n in range(3)]
    own = [FunctionRule("most", "checks/most.py", 1, SOURCE, one, "x", (one[0][1].name,)) for one in given]
    asked = [Asked(Check("c", Stage.BEFORE_PUBLISH, Place("m.sql")), form) for form in (*rules, *means, *own)]
    return measure(session, "shop.silver.t", asked)

root.sparkContext.setJobDescription("all pass")
assert all(one.status == "passed" for one in ask(0))
root.sparkContext.setJobDescription("some fail")
found = ask(5)
assert [one.value for one in found[:10]] == [5, 4, 3, 2, 1, 0, 0, 0, 0, 0], found
assert [one.value for one in found[20:]] == [5, 4, 3], found
assert all(one.samples for one in (*found[:5], *found[20:]))
root.stop()
"""


def events(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            for line in file.read_text().splitlines():
                if line.startswith("{"):
                    yield json.loads(line)


def scans(plan: dict[str, Any]) -> list[str]:
    own = [plan["nodeName"]] if "Scan" in plan["nodeName"] else []
    return own + [name for child in plan["children"] for name in scans(child)]


def test_an_event_log_shows_one_scan_for_twenty_checks_and_one_more_for_samples_of_those_that_fail(
    tmp_path: Path,
) -> None:
    (tmp_path / "events").mkdir()
    program = PROGRAM.format(jvm=QUICK_JVM)
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    seen = [event for event in events(tmp_path / "events") if event["Event"].endswith("SQLExecutionStart")]
    read = {
        said: [name for event in seen if event["description"] == said for name in scans(event["sparkPlanInfo"])]
        for said in ("all pass", "some fail")
    }
    assert len(read["all pass"]) == 1, read
    assert len(read["some fail"]) == 2, read
