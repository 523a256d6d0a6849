"""`tidegate.Project` and `tidegate.read`: what scripts and notebooks get."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tidegate
from tests.projects import ProjectFolder, make_project, pointer_shop, shop
from tidegate.cli.main import run_cli
from tidegate.errors import ConfigError, SelectionError

__all__ = ["make_project", "pointer_shop", "shop"]


def without_times(document: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in document.items() if name != "duration_ms"}


def test_compile_and_plan_give_the_documents_of_the_commands(
    pointer_shop: ProjectFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    pointer_shop.model("a.one", "SELECT 1 AS x")
    pointer_shop.model("b.two", "SELECT y FROM a.one")
    project = tidegate.Project(pointer_shop.root / "models")
    place = ["--json", "--project", str(pointer_shop.root)]
    run_cli(["compile", *place])
    assert without_times(json.loads(capsys.readouterr().out)) == without_times(project.compile())
    assert [d["code"] for d in project.compile()["diagnostics"]] == ["UnknownColumn"]
    pointer_shop.model("b.two", "SELECT x FROM a.one")
    run_cli(["plan", "b.*", *place])
    assert json.loads(capsys.readouterr().out) == project.plan("b.*")
    assert [step["model"] for step in project.plan("b.*")["steps"]] == ["b.two"]


def test_what_is_wrong_is_raised_with_its_remedy(tmp_path: Path, pointer_shop: ProjectFolder) -> None:
    with pytest.raises(ConfigError):
        tidegate.Project(tmp_path / "nowhere")
    pointer_shop.model("a.one", "SELECT 1 AS x")
    with pytest.raises(SelectionError, match=r"There is no published table 'a\.one'") as caught:
        tidegate.read("a.one", pointer_shop.root)
    assert "tidegate run +a.one" in str(caught.value.remedy)


def test_importing_the_package_brings_nothing_heavy() -> None:
    heavy = ("tidegate.", "pyspark", "pyarrow", "sqlglot", "click")
    code = f"import sys, tidegate; print([m for m in sys.modules if m.startswith({heavy!r})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_name_that_the_package_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Projekt'"):
        tidegate.Projekt  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.spark
def test_run_and_read(shop: ProjectFolder) -> None:
    shop.model("a.one", "SELECT 1 AS x, DATE '2024-01-02' AS day, CAST(1.10 AS DECIMAL(10, 2)) AS price")
    shop.model("a.bad", "SELECT CAST(raise_error('down') AS INT) AS x")
    project = tidegate.Project(shop.root)
    result = project.run("a.*", full_refresh=True)
    assert (result["status"], result["publish"]["tables"]) == ("partial", ["a.one"])
    rows = tidegate.read("a.one", shop.root)
    assert [str(field.type) for field in rows.schema] == ["int32", "date32[day]", "decimal128(10, 2)"]
    assert rows.equals(project.table("one"))
    twice = project.sql("SELECT l.x, r.x FROM a.one AS l JOIN a.one AS r ON l.x = r.x")
    assert twice.to_pylist() == [{"x": 1, "x_2": 1}]
    assert shop.branches() == []
