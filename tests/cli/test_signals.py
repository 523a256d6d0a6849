"""Commands that are signalled or killed while they work with Spark: they end as cancelled, and no process is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import QUICK_JVM
from tests.waiting import eventually
from tidegate.config import load_settings
from tidegate.config.paths import cache_folder
from tidegate.lake import open_catalog
from tidegate.spark.class_archive import SPARES_ARCHIVE, class_archive
from tidegate.spark.jars import ensure_jars
from tidegate.spark.java import find_java
from tidegate.state import open_reader

pytestmark = [pytest.mark.spark, pytest.mark.alone]

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
MARK = "TIDEGATE_TEST_MARK"
LONG = "SELECT count(*) AS n FROM range(100000000000) WHERE sha2(CAST(id AS string), 512) LIKE '0000000000%'"


@cache
def without_preparing() -> dict[str, str]:
    """An archive of classes is used if there is one. Another JVM, which made one first, would be taken for Spark's."""
    java = find_java()
    made = class_archive(java, ensure_jars(java, lambda line: None))
    return {} if made else {SPARES_ARCHIVE: "1"}


class Command:
    """`tidegate` in a process whose environment, and that of all it starts, carries a mark."""

    def __init__(self, project: Path, *args: str, **env: str) -> None:
        self.project = project
        self.mark = uuid.uuid4().hex
        self.points = project / "points"
        own = {MARK: self.mark, "TIDEGATE_FAULT_LOG": str(self.points), **without_preparing(), **env}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tidegate", *args, "--project", str(project)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={name: value for name, value in {**os.environ, **own}.items() if value},
            start_new_session=True,
        )

    def left(self) -> list[str]:
        """Itself, and what it started, by their command lines."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200])
            except OSError:
                continue
        return [line for line in found if line]

    def launching(self) -> bool:
        """Spark's script asks its launcher which Java to start."""
        return any("org.apache.spark.launcher.Main" in line for line in self.left())

    def starting(self) -> bool:
        """Java has begun, and has no port yet."""
        return any("bin/java" in line and "-Xmx128m" not in line for line in self.left())

    def reached(self, point: str) -> Callable[[], bool]:
        return lambda: self.points.exists() and point in self.points.read_text()

    def end(self, when: Callable[[], bool], *numbers: signal.Signals, within: float = 30) -> tuple[int, str, str]:
        """Its exit code, stdout and stderr. The signals come one after the other, at once; it ends `within` seconds."""
        try:
            assert eventually(when, 60), self.left()
            for number in numbers:
                self.process.send_signal(number)
            out, err = self.process.communicate(timeout=within)
        finally:
            self.process.kill()
            self.process.communicate()
        return self.process.returncode, out.decode(), err.decode()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tidegate.toml").write_text(
        '[project]\nname = "shop"\n\n[spark]\nmemory = "1g"\nmaster = "local[2]"\n\n'
        f'[spark.conf]\n"spark.driver.extraJavaOptions" = "{QUICK_JVM}"\n'
    )
    (tmp_path / "models" / "a").mkdir(parents=True)
    (tmp_path / "models" / "a" / "long.sql").write_text(LONG)
    return tmp_path


def status(project: Path) -> str:
    with open_reader(load_settings(project).state.url) as state:
        return state.runs(1)[0].status


def by_script(moment: str) -> dict[str, str]:
    """Its arguments are read by Spark's script alone, which starts a launcher first."""
    return {"PYSPARK_SUBMIT_ARGS": "pyspark-shell"} if moment == "launching" else {}


@pytest.mark.parametrize(
    ("moment", "numbers"),
    [
        ("launching", [signal.SIGINT]),
        ("starting", [signal.SIGTERM]),
        ("starting", [signal.SIGHUP, signal.SIGINT]),
        ("before_write", [signal.SIGTERM, signal.SIGINT]),
        *([("before_branch", [signal.SIGTERM]), ("after_branch", [signal.SIGINT])] if PROVE else []),
    ],
)
def test_a_run_that_is_signalled_ends_as_cancelled_and_leaves_no_process(
    project: Path, moment: str, numbers: list[signal.Signals]
) -> None:
    command = Command(project, "run", "--json", **by_script(moment))
    within = 3 if moment == "before_write" else 30
    code, out, err = command.end(getattr(command, moment, command.reached(moment)), *numbers, within=within)
    assert (command.left(), code) == ([], 130), err
    document = json.loads(out)
    assert (document["status"], document["failure_kind"]) == ("cancelled", "Cancelled")
    assert (status(project), "Traceback" in err) == ("cancelled", False)
    catalog = open_catalog(load_settings(project))
    assert (catalog.list_branches(), catalog.head()) == ((), {})


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("launching", signal.SIGKILL),
        ("starting", signal.SIGKILL),
        ("starting", signal.SIGQUIT),
        *([("before_branch", signal.SIGKILL), ("before_write", signal.SIGKILL)] if PROVE else []),
    ],
)
def test_no_process_outlives_a_run_that_is_killed(project: Path, moment: str, number: signal.Signals) -> None:
    command = Command(project, "run", **by_script(moment))
    code, _, _ = command.end(getattr(command, moment, command.reached(moment)), number)
    assert code == -number
    assert eventually(lambda: not command.left(), 5), command.left()


def test_the_process_that_prepares_quick_starts_ends_with_its_command(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for kept in cache_folder().iterdir():
        if kept.name != "classes":
            (home / kept.name).symlink_to(kept)
    command = Command(project, "sql", "SELECT 1", TIDEGATE_HOME=str(home), TIDEGATE_NO_CLASS_ARCHIVE="")
    command.end(command.starting, signal.SIGKILL)
    assert eventually(lambda: not command.left(), 5), command.left()


OTHERS = [
    ["sql", "SELECT 1"],
    ["doctor", "--spark"],
    *([["check"], ["test"], ["profile", "a.long"], ["diff", "main"], ["maintain"], ["chaos"]] if PROVE else []),
]


@pytest.mark.parametrize("args", OTHERS, ids=lambda args: args[0])
def test_every_command_that_starts_spark_is_cancelled_by_sigterm(project: Path, args: list[str]) -> None:
    command = Command(project, *args)
    code, _, err = command.end(command.starting, signal.SIGTERM)
    assert (command.left(), code, "Traceback" in err) == ([], 130, False), err
