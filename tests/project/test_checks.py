"""Checks as they are read from directives, settings files, test files and the folder `checks`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.compiler.projects import write_project
from tidegate.checks.check_values import CheckCall, Stage
from tidegate.config import load_settings
from tidegate.problems import Place, Severity
from tidegate.project import LoadedProject, load_project

SQL = "models/silver/orders/pipeline.sql"
TOML = "models/silver/orders/config.toml"
YAML = "models/silver/orders/config.yaml"


def load(root: Path, files: dict[str, str]) -> LoadedProject:
    return load_project(load_settings(write_project(root, {SQL: "select 1 as id", **files}), env={}))


def test_directives_become_checks_of_their_stages(tmp_path: Path) -> None:
    head = "-- @constraint: not_null(id)\n--   @audit:  row_count(>, 0) warn\n-- @warning: freshness(at, 24h)\n"
    project = load(tmp_path, {SQL: f"{head}select 1 as id"})
    assert project.problems == ()
    constraint, audit, warning = project.models[0].checks
    assert (constraint.name, constraint.stage, constraint.severity) == (
        "not_null(id)",
        Stage.BEFORE_WRITE,
        Severity.ERROR,
    )
    assert constraint.call == CheckCall("not_null", ("id",))
    assert constraint.place == Place(SQL, 1, 17)
    assert (audit.name, audit.stage, audit.severity) == ("row_count(>, 0)", Stage.BEFORE_PUBLISH, Severity.WARN)
    assert audit.place == Place(SQL, 2, 15)
    assert audit.call is not None
    assert audit.call.columns == (25, 28)
    assert (warning.stage, warning.severity) == (Stage.AFTER_PUBLISH, Severity.WARN)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            TOML,
            """
constraint = ["not_null(id)", "unique(id) warn"]
[[checks]]
type = "accepted_values"
column = "status"
values = ["a", "it's, b", 3]
severity = "warn"
description = "known ones"
tags = ["shop"]
remediation = "ask"
timeout = "5m"
[[checks]]
type = "row_count"
max = 10
name = "few"
""",
        ),
        (
            YAML,
            """
constraint: [not_null(id), unique(id) warn]
checks:
  - type: accepted_values
    column: status
    values: [a, "it's, b", 3]
    severity: warn
    description: known ones
    tags: [shop]
    remediation: ask
    timeout: 5m
  - type: row_count
    max: 10
    name: few
""",
        ),
    ],
    ids=["toml", "yaml"],
)
def test_settings_files_declare_checks_by_key(tmp_path: Path, file: str, text: str) -> None:
    project = load(tmp_path, {file: text})
    assert project.problems == ()
    first, second, values, few = project.models[0].checks
    assert (first.name, first.stage) == ("not_null(id)", Stage.BEFORE_WRITE)
    assert second.severity is Severity.WARN
    assert values.call == CheckCall("accepted_values", ("status", "a, 'it''s, b', 3"), keyed=True)
    assert (values.stage, values.severity, values.description) == (Stage.BEFORE_PUBLISH, Severity.WARN, "known ones")
    assert values.name == "accepted_values(status, 'a, ''it''''s, b'', 3')"
    assert (values.tags, values.remediation, values.timeout) == (("shop",), "ask", timedelta(minutes=5))
    assert (few.name, few.call) == ("few", CheckCall("row_count", ("", "10"), keyed=True))
    assert few.call is not None
    assert few.call.lines[1] == few.place.line + 1


def test_tests_and_queries_of_settings_files_are_checks_too(tmp_path: Path) -> None:
    files = {
        "models/silver/orders/tests/quality/whole.sql": "-- @severity: warn\n-- @timeout: 1m\nselect * from {{ this }}",
        TOML: '[[checks]]\ntype = "sql"\nsql = "select * from {{ this }}"\n',
    }
    model = load(tmp_path, files).models[0]
    query, whole = model.checks
    assert (whole.name, whole.call, whole.severity, whole.timeout) == (
        "whole",
        None,
        Severity.WARN,
        timedelta(minutes=1),
    )
    assert whole.source == files["models/silver/orders/tests/quality/whole.sql"]
    assert (query.name, query.call, query.source.strip()) == ("sql in line 3", None, "select * from {{ this }}")
    assert model.sql_tests == (query, whole)


def test_folders_and_defaults_add_checks_and_the_nearest_decides_how_severe_they_are(tmp_path: Path) -> None:
    files = {
        "tidegate.toml": '[project]\nname = "shop"\n[defaults]\naudit = "row_count(>, 0)"\n',
        "models/_defaults.toml": 'audit = ["row_count(>, 0) warn"]\nconstraint = ["not_null(id)"]',
        SQL: "-- @constraint: not_null(id) warn\nselect 1 as id",
    }
    project = load(tmp_path, files)
    assert project.problems == ()
    assert [(check.name, check.severity) for check in project.models[0].checks] == [
        ("not_null(id)", Severity.WARN),
        ("row_count(>, 0)", Severity.WARN),
    ]


def test_a_check_carries_the_file_that_it_needs(tmp_path: Path) -> None:
    files = {
        SQL: "-- @audit: golden(tests/rows.csv)\n-- @constraint: mine(id)\n-- @audit: yours(id)\nselect 1 as id",
        "tests/rows.csv": "id\n1\n",
        "checks/mine.sql": "-- @params: column\n{column} > 0\n",
        "checks/yours.py": "def yours(column):\n    return column > 0\n",
        "checks/__init__.py": "",
    }
    project = load(tmp_path, files)
    assert project.problems == ()
    golden, mine, yours = project.models[0].checks
    assert (golden.source, golden.file) == ("id\n1\n", "")
    assert (mine.source, mine.file) == (files["checks/mine.sql"], "checks/mine.sql")
    assert (yours.source, yours.file) == (files["checks/yours.py"], "checks/yours.py")
    assert project.own_checks == ("mine", "yours")


def test_settings_files_name_the_parameters_of_a_function(tmp_path: Path) -> None:
    files = {
        TOML: '[[checks]]\ntype = "yours"\nlimit = 5\ncolumn = "id"\nseverity = "warn"\n',
        "checks/yours.py": "def yours(column, limit=10):\n    return column < limit\n",
    }
    project = load(tmp_path, files)
    assert project.problems == ()
    (check,) = project.models[0].checks
    assert (check.name, check.call) == ("yours(id, 5)", CheckCall("yours", ("id", "5"), keyed=True))


def test_a_label_is_the_name_of_its_check(tmp_path: Path) -> None:
    project = load(tmp_path, {SQL: "-- @constraint: check(positive, id > 0)\nselect 1 as id"})
    assert [check.name for check in project.models[0].checks] == ["positive"]
