"""Every setting: of tidegate.toml, of models and their checks, of quality tests and unit tests.

The keys of tidegate.toml are those that the program itself names when it refuses one that it does not know.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.surface.evaluate import Evaluator
from tests.surface.source import Source

_UNKNOWN = "qqzzqqzz"

_PROBES: Mapping[str, str] = {
    "project": "[project]",
    "lake": "[lake]",
    "spark": "[spark]",
    "state": "[state]",
    "state (postgresql)": "[state]\nurl = 'postgresql://localhost/state'",
    "run": "[run]",
    "run.budget": "[run.budget]",
    "contracts": "[contracts]",
    "landing.ZONE": "[landing.zone]\ncolumns = {id = 'bigint'}",
    "anomalies": "[anomalies]",
    "lints": "[lints]",
    "maintenance": "[maintenance]",
    "masking": "[masking]",
    "reaper": "[reaper]",
    "sandbox": "[sandbox]",
    "sources.NAME (manual)": "[sources.other]\nkind = 'manual'\ntables = ['a.b']",
    "sources.NAME (catalog)": "[sources.other]\nkind = 'catalog'",
    "sources.NAME (database)": "[sources.other]\nkind = 'database'\nurl = 'postgresql://localhost/shop'",
    "sources.NAME (sqlserver)": "[sources.other]\nkind = 'sqlserver'\nurl = 'jdbc:sqlserver://localhost'",
    "sources.NAME (jdbc)": "[sources.other]\nkind = 'jdbc'\nurl = 'jdbc:mysql://localhost/shop'",
    "sources.NAME (fivetran)": "[sources.other]\nkind = 'fivetran'",
    "sources.NAME (rest)": "[sources.other]\nkind = 'rest'\nbase_url = 'https://localhost'",
    "sources.NAME.tables.TABLE": "[sources.other]\nkind = 'manual'\n[sources.other.tables.'a.b']",
    "hooks (command)": "[[hooks]]\nevents = '*'\ncommand = 'true'",
    "hooks (url)": "[[hooks]]\nevents = '*'\nurl = 'https://localhost'",
    "chunks": "[chunks]",
    "chunks.sources.NAME": "[chunks.sources.other]\nmodel = 'shop:Order'\nprimary_key = ['id']",
    "s3": "[s3]",
    "callback": "[callback]\nurl = 'https://localhost'",
}
_READ_ELSEWHERE = frozenset({"defaults", "vars", "sources", "landing", "hooks"})
"""Sections that hold names of the user's own, or other sections."""


_FILES: Mapping[str, str] = {
    "models/silver/orders.sql": "SELECT 1 AS id",
    "models/silver/orders.contract.toml": f"{_UNKNOWN} = 1\n[columns.id]\n{_UNKNOWN} = 1\n",
    "tests/orders.yaml": f"tests:\n- name: a\n  model: silver.orders\n  {_UNKNOWN}: 1\n  expect:\n    {_UNKNOWN}: 1\n",
}


def setting_lines(source: Source, evaluator: Evaluator) -> set[str]:
    parts = (_of_file, _of_models, _of_checks, _of_templates, _of_project_files)
    return {*_choices(source, evaluator), *(line for part in parts for line in part(source))}


def _of_file(source: Source) -> Iterator[str]:
    sections = _known(source, f"[{_UNKNOWN}]", r"known are (.*)")
    for section in (each.strip("[]") for each in sections):
        yield f"tidegate.toml: [{section}]"
        probed = section in _READ_ELSEWHERE or any(re.match(rf"{section}\b", name) for name in _PROBES)
        assert probed, f"[{section}] of tidegate.toml is new: give tests/surface/settings.py a way to ask for its keys"
    for name, toml in _PROBES.items():
        for key in _known(source, f"{toml}\n{_UNKNOWN} = 1", rf"unknown key '{_UNKNOWN}'.*known are (.*)"):
            yield f"tidegate.toml: [{name}] {key}"
    yield "tidegate.toml: [landing] root"


def _known(source: Source, toml: str, pattern: str) -> list[str]:
    """What the message lists that refuses the unknown name."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tidegate.toml").write_text(toml, "utf-8")
        with pytest.raises(source.value("ConfigError")) as refusal:
            source.value("load_settings")(Path(folder), env={})
    found = [match for problem in refusal.value.problems if (match := re.search(pattern, problem))]
    assert found, f"no problem lists the known names: {refusal.value.problems}"
    return found[0][1].split(", ")


def _choices(source: Source, evaluator: Evaluator) -> Iterator[str]:
    """The words that a setting takes, from the calls that read it."""
    for module, call in source.calls(".choice("):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "choice" and len(call.args) > 1:
            scope = evaluator.scope_around(module, call)
            key, words = evaluator.shape(call.args[0], scope).texts, evaluator.shape(call.args[1], scope).element.texts
            yield from (f"tidegate.toml, choices: {name} = {word}" for name in key for word in words)
    keys = source.one("KEYS")
    entries = keys.node.value if isinstance(keys.node, ast.AnnAssign | ast.Assign) else None
    assert isinstance(entries, ast.Dict)
    for name, entry in zip(entries.keys, entries.values, strict=True):
        for call in ast.walk(entry):
            if isinstance(name, ast.Constant) and isinstance(call, ast.Call) and ast.unparse(call.func) == "_one_of":
                yield from (f"model, choices: @{name.value} {ast.literal_eval(word)}" for word in call.args)


def _of_models(source: Source) -> Iterator[str]:
    keys: Mapping[str, Any] = source.value("KEYS")
    for key, entry in keys.items():
        yield f"model: @{key}{' (repeatable)' if entry.repeatable else ''}"
    yield from (f"model: @kind {spelling}" for spelling in source.value("SPELLINGS"))
    yield from (f"quality test: @{key}" for key in source.value("ANNOTATIONS"))
    yield from (f"selection: {method}:" for method in source.value("METHODS"))
    yield from (f"selection: state:{state}" for state in source.value("STATES"))
    yield from (f"hook: event {name}" for name in source.value("HOOK_EVENTS"))
    yield from (f"hook: preset {name}" for name in source.value("PRESETS"))


def _of_project_files(source: Source) -> Iterator[str]:
    """What the compiler lists where a contract or a unit test has an unknown key."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tidegate.toml").touch()
        for name, text in _FILES.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(text, "utf-8")
        settings = source.value("load_settings")(Path(folder), env={})
        diagnostics = source.value("compile_from_disk")(settings, {}, {})[0].diagnostics
    for diagnostic in diagnostics:
        told = f"{diagnostic.message}; {diagnostic.suggestion or ''}"
        if _UNKNOWN in told and (found := re.search(r"known are (.*)", told)):
            what = "unit test" if diagnostic.span.file.endswith(".yaml") else "contract"
            yield from (f"{what}: {key}" for key in found[1].split(", "))


def _of_checks(source: Source) -> Iterator[str]:
    yield from (f"[[checks]] key: {key}" for key in source.value("ABOUT"))
    for form, table in (("by position", "BUILT_IN"), ("[[checks]]", "KEYED")):
        for name, kind in source.value(table).items():
            parameters = ", ".join(parameter.name for parameter in kind.parameters)
            yield f"check, {form}: {name}({parameters})"


def _of_templates(source: Source) -> Iterator[str]:
    context = source.value("TemplateContext")
    given = {"table": source.value("TableName")("a", "b", "c")}
    required = [f.name for f in dataclasses.fields(context) if f.default is f.default_factory is dataclasses.MISSING]
    values = context(**{name: given.get(name, "") for name in required})
    yield from (f"template: {name}" for name in source.value("TemplateNames")(values).as_dict())
