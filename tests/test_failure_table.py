"""The failure table names what exists, knows all of Spark's SQLSTATEs, and is what docs/failures.md shows."""

from __future__ import annotations

import builtins
import errno
import importlib
import json
import sqlite3
import zipfile
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tidegate.errors import FailureKind
from tidegate.failure_table import By, Rule, markdown, rule_for, rules

PAGE = Path(__file__).parents[1] / "docs" / "failures.md"
NOT_INSTALLED = ("org.apache.hadoop.fs.s3a.", "software.amazon.", "com.microsoft.")
NO_KIND_BY_CLASS = {"38", "39", "40", "82", "HV", "HY", "KD", "XX"}
"""Code of users, external systems, internal errors: only the cause or the condition says more."""


def names(by: By) -> list[str]:
    return [name for rule in rules() if rule.by is by for name in rule.names]


@cache
def jars() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "jars"


@cache
def conditions() -> dict[str, Any]:
    jar = next(jars().glob("spark-common-utils_*.jar"))
    with zipfile.ZipFile(jar) as content:
        found: dict[str, Any] = json.loads(content.read("error/error-conditions.json"))
    return found


def test_the_page_shows_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run `make docs`"


def test_no_name_is_there_twice() -> None:
    counted = Counter((rule.by, rule.of, name) for rule in rules() for name in rule.names)
    assert [name for name, count in counted.items() if count > 1] == []


def test_a_rule_is_told_in_plain_sentences() -> None:
    def told_well(rule: Rule) -> bool:
        begins_well = rule.means[0].islower() or rule.means.startswith("Spark")
        remedy = rule.remedy or "Do it."
        return begins_well and not rule.means.endswith(".") and remedy[0].isupper() and remedy[-1] == "."

    assert [rule.names for rule in rules() if not told_well(rule)] == []


def test_words_are_looked_for_only_in_messages_of_known_classes() -> None:
    known = {*names(By.JAVA), *names(By.PYTHON)}
    wrappers = {"org.apache.spark.SparkException", "java.sql.SQLException"}
    assert {rule.of for rule in rules() if rule.of} <= known | wrappers


@pytest.mark.parametrize("package", ["org.apache.spark.", "org.apache.hadoop."])
def test_every_class_of_spark_and_hadoop_is_in_their_jars(package: str) -> None:
    wanted = {name for name in names(By.JAVA) if name.startswith(package) and not name.startswith(NOT_INSTALLED)}
    wanted -= {name for name in wanted if "extensions.Iceberg" in name}
    found: set[str] = set()
    for jar in [*jars().glob("spark-*.jar"), *jars().glob("hadoop-client-api-*.jar")]:
        with zipfile.ZipFile(jar) as content:
            found |= {name.removesuffix(".class").replace("/", ".") for name in content.namelist()}
    assert wanted - found == set()


def test_every_condition_is_one_of_sparks() -> None:
    def exists(name: str) -> bool:
        main, _, part = name.partition(".")
        return main in conditions() and (not part or part in conditions()[main]["subClass"])

    assert [name for name in names(By.CONDITION) if not exists(name)] == []


def test_every_sqlstate_that_spark_gives_has_a_kind_or_is_known_to_have_none() -> None:
    given = {condition["sqlState"][:2] for condition in conditions().values() if "sqlState" in condition}
    without = {state for state in given if rule_for(By.SQLSTATE, state) is None}
    assert without == NO_KIND_BY_CLASS


@pytest.mark.parametrize("name", names(By.PYTHON))
def test_every_python_class_is_an_exception(name: str) -> None:
    module, _, short = name.rpartition(".")
    if module.startswith(("requests", "urllib3")):
        pytest.importorskip(module)
    found = getattr(importlib.import_module(module) if module else builtins, short)
    assert issubclass(found, BaseException)


def test_every_code_of_the_system_and_of_sqlite_exists() -> None:
    assert [name for name in names(By.ERRNO) if not hasattr(errno, name)] == []
    assert [name for name in names(By.SQLITE) if not hasattr(sqlite3, name)] == []


@pytest.mark.parametrize(
    ("by", "name", "kind"),
    [
        (By.STATUS, 401, FailureKind.AUTH_FAILED),
        (By.STATUS, 403, FailureKind.AUTH_FAILED),
        (By.STATUS, 404, FailureKind.NOT_FOUND),
        (By.STATUS, 410, FailureKind.NOT_FOUND),
        (By.STATUS, 408, FailureKind.TRANSIENT),
        (By.STATUS, 429, FailureKind.QUOTA_EXCEEDED),
        (By.STATUS, 503, FailureKind.TRANSIENT),
        (By.STATUS, 599, FailureKind.TRANSIENT),
        (By.STATUS, 400, FailureKind.QUERY_REJECTED),
        (By.STATUS, 422, FailureKind.QUERY_REJECTED),
        (By.STATUS, 409, FailureKind.CONFLICT),
        (By.SQLITE, "SQLITE_IOERR_WRITE", FailureKind.TRANSIENT),
        (By.SQLITE, "SQLITE_BUSY_SNAPSHOT", FailureKind.TRANSIENT),
        (By.SQLITE, "SQLITE_CONSTRAINT_NOTNULL", FailureKind.QUERY_REJECTED),
        (By.SQLITE, "SQLITE_CONSTRAINT_UNIQUE", FailureKind.CONFLICT),
        (By.CONDITION, "TABLE_OR_VIEW_NOT_FOUND", FailureKind.NOT_FOUND),
        (By.CONDITION, "MALFORMED_CSV_RECORD.ANY", FailureKind.QUERY_REJECTED),
        (By.SQLSERVER, 1205, FailureKind.TRANSIENT),
        (By.SQLSERVER, 18456, FailureKind.AUTH_FAILED),
        (By.SQLSERVER, 40501, FailureKind.QUOTA_EXCEEDED),
    ],
)
def test_a_code_has_the_kind_of_what_it_is_part_of(by: By, name: str | int, kind: FailureKind) -> None:
    rule = rule_for(by, name)
    assert rule is not None
    assert rule.kind is kind


def test_a_status_that_is_no_failure_has_no_kind() -> None:
    assert rule_for(By.STATUS, 200) is None


def test_only_passing_problems_are_tried_again_and_only_a_wrong_password_stops_the_run() -> None:
    assert {kind for kind in FailureKind if kind.is_transient} == {
        FailureKind.TRANSIENT,
        FailureKind.CONNECTION_FAILED,
        FailureKind.QUOTA_EXCEEDED,
    }
    assert [kind for kind in FailureKind if kind.stops_run] == [FailureKind.AUTH_FAILED]
    assert all(kind.means for kind in FailureKind)
