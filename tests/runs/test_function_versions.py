"""What table functions say of their data before a run decides what to build. No JVM."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.projects import build, table
from tidegate.errors import SandboxMissingError
from tidegate.python_models.run_sandbox import RunSandbox
from tidegate.python_models.sandbox.sandbox import Sandbox
from tidegate.runs.called_functions import versions_of_functions

FILES = {
    "lib/rates.py": 'def version():\n    return "7"\n\ndef rates() -> "rate double":\n    return [{"rate": 1.0}]\n',
    "models/silver/a.sql": "select * from rates()",
}


class NoSandbox(RunSandbox):
    def get(self) -> Sandbox:
        raise SandboxMissingError("The sandbox needs Linux")


def test_a_trusted_function_says_which_state_of_its_data_it_gives(tmp_path: Path) -> None:
    settings = '[project]\nname = "shop"\n[sandbox]\nmode = "trusted"\n'
    compiled = build(tmp_path, {**FILES, "tidegate.toml": settings}).compiled
    given = versions_of_functions(
        compiled, [table("silver.a")], RunSandbox(compiled.settings), "2026-01-02T03:04:05", {}, print, lambda: False
    )
    assert given == {"rates()": "7"}


def test_without_a_sandbox_only_the_models_that_call_the_function_fail(tmp_path: Path) -> None:
    compiled = build(tmp_path, FILES).compiled
    lines: list[str] = []
    given = versions_of_functions(
        compiled,
        [table("silver.a")],
        NoSandbox(compiled.settings),
        "2026-01-02T03:04:05",
        {},
        lines.append,
        lambda: False,
    )
    assert (given, lines) == ({}, ["the version of rates() is not known: The sandbox needs Linux"])
