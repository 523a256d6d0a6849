"""Settings of Python models: a directive and an argument of the decorator mean the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compiler.projects import write_project
from tidegate.config import load_settings
from tidegate.project import LoadedProject, load_project
from tidegate.project.python_source import PythonSource
from tidegate.project.read_python import read_python

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
COLUMNS = st.lists(NAMES, min_size=1, max_size=3, unique=True)
WORDS = st.from_regex(r"[A-Za-z][A-Za-z0-9 .;'-]{0,12}[a-z]", fullmatch=True)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "merge_strategy": st.sampled_from(["incremental", "append_only", "scd2", "table", "delete_insert"]),
    "unique_key": COLUMNS,
    "group_key": COLUMNS,
    "watermark_column": NAMES,
    "partitioned_by": st.sampled_from([["country"], ["days(at)", "bucket(16, id)"]]),
    "sorted_by": st.sampled_from([["id DESC"], ["id", "at ASC NULLS LAST"]]),
    "on_empty": st.sampled_from(["replace", "keep", "fail"]),
    "lookback": st.integers(0, 9),
    "quarantine": st.booleans(),
    "description": WORDS,
    "owner": WORDS,
    "tags": COLUMNS,
    "depends_on": st.just(["silver.a", "silver.b"]),
    "freshness": st.just("at 24h audit"),
    "max_retries": st.integers(0, 3),
    "timeout": st.sampled_from(["5m", "2h"]),
    "constraint": st.sampled_from(["not_null(id)", "unique(id)"]),
}
CHOSEN = st.lists(st.sampled_from(sorted(VALUES)), unique=True).flatmap(
    lambda keys: st.fixed_dictionaries({key: VALUES[key] for key in keys})
)


def written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def load(root: Path, code: str) -> LoadedProject:
    write_project(root, {"models/silver/m.py": code})
    return load_project(load_settings(root, env={}))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CHOSEN)
def test_a_directive_and_the_decorator_give_the_same_model(tmp_path: Path, chosen: dict[str, Any]) -> None:
    function = "def model(tg):\n    return tg.this()\n"
    header = "".join(f"# @{key}: {written(value)}\n" for key, value in chosen.items())
    arguments = ", ".join(f"{key}={value!r}" for key, value in chosen.items())
    one = load(tmp_path, f"{header}\n{function}")
    other = load(tmp_path, f"from tidegate import tg\n@tg.model({arguments})\n{function}")
    assert [p.code for p in one.problems] == [p.code for p in other.problems]
    ((first,), (second,)) = one.models, other.models
    assert first.settings == second.settings
    checks = [[(c.name, c.stage, c.severity) for c in model.checks] for model in (first, second)]
    assert checks[0] == checks[1]


def test_strategy_is_another_word_for_the_merge_strategy_in_the_decorator(tmp_path: Path) -> None:
    project = load(tmp_path, "@tg.model(strategy='append_only')\ndef model(tg):\n    return tg.this()\n")
    assert str(project.models[0].settings.strategy) == "append_only"


def test_a_setting_in_both_places_is_set_twice(tmp_path: Path) -> None:
    project = load(tmp_path, "# @owner: a\n@tg.model(owner='b')\ndef model(tg):\n    return tg.this()\n")
    assert [(p.code, p.place.line) for p in project.problems] == [("RepeatedSetting", 2)]


def directives(code: str) -> list[tuple[int, bool]]:
    return [(line, in_header) for line, _, in_header in read_python(code, "m.py").comments]


def test_the_header_ends_at_the_first_line_of_code() -> None:
    assert directives('#!/usr/bin/env python\n"""Doc\n# @inside: x\n"""\n# @a: b\n\n# @c: d\nx = 1\n# @e: f') == [
        (5, True),
        (7, True),
        (9, False),
    ]
    assert directives("# @a: b\n@tg.model()\n# @b: c\ndef model(tg): ...") == [(1, True), (3, False)]
    assert directives("x = '''\n# @a: b\n'''\ny = f'''\n# @a: {x}\n'''") == []
    assert directives("# @a: b\nthis is no Python\n# @c: d") == [(1, True), (3, False)]


def test_what_cannot_be_parsed_is_a_problem_and_no_crash() -> None:
    nested = ["(" * 500 + ")" * 500, "x" + "()" * 5000, "-" * 20000 + "1", "a" + "+a" * 4000]
    texts = ["def", "x = '\0'", "\ud800", *nested]
    for text in texts:
        source = read_python(text, "m.py")
        assert isinstance(source, PythonSource)
        assert {p.code for p in source.problems} <= {"PythonSyntax", "MissingModel"}
        assert source.problems
