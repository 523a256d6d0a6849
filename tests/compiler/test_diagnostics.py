"""Each file of tests/cases/compile is a small project and the diagnostics it must give: no more, no fewer.

Every code that the sources can give has an entry in the registry, a case, and a place in the docs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidegate
from tests.compiler.against import diagnose
from tidegate.compiler.compiled import Diagnostic
from tidegate.compiler.diagnostic_registry import markdown, registry

CASES = Path(__file__).parents[1] / "cases" / "compile"
SOURCE = Path(tidegate.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "diagnostics.md"

ROOMS = ("compiler", "project", "contracts", "checks", "sources")
CODE = re.compile(r"(?=.*[a-z])(?:[A-Z][a-z]*){2,}")


def read_case(path: Path) -> tuple[dict[str, str], list[str]]:
    parts = re.split(r"^--- (.*)\n", path.read_text(), flags=re.MULTILINE)[1:]
    files = dict(zip(parts[::2], parts[1::2], strict=True))
    return files, files.pop("expect").splitlines()


@pytest.mark.parametrize("path", sorted(CASES.glob("*.txt")), ids=lambda path: path.stem)
def test_project_gives_exactly_these_diagnostics(path: Path, tmp_path: Path) -> None:
    files, expected = read_case(path)
    found = diagnose(tmp_path, files)
    shown = [f"{d.severity} {d.code} {_place(d)}" for d in found]
    heads = [re.match(r"\w+ \w+ (?:-|.*?:\d+:\d+)", line)[0] for line in expected]  # type: ignore[index]
    assert shown == heads, "\n".join(f"{d.message} ({d.suggestion})" for d in found)
    for line, head, diagnostic in zip(expected, heads, found, strict=True):
        assert line[len(head) :].strip() in (diagnostic.suggestion or "")
        assert diagnostic.message
    assert path.stem in {d.code for d in found}


def _place(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    return f"{span.file}:{span.line}:{span.col}" if span else "-"


def codes_given(source: str) -> Iterator[str]:
    """What is written like a code and handed on by a call: in these rooms nothing else is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from _codes(argument)


def _codes(argument: ast.expr) -> Iterator[str]:
    """`"A" if … else "B"` is two."""
    branches = (argument.body, argument.orelse) if isinstance(argument, ast.IfExp) else (argument,)
    for branch in branches:
        if isinstance(branch, ast.Constant) and isinstance(branch.value, str) and CODE.fullmatch(branch.value):
            yield branch.value


def all_codes_given() -> set[str]:
    files = [file for room in ROOMS for file in (SOURCE / room).rglob("*.py")]
    return {code for file in files for code in codes_given(file.read_text(encoding="utf-8"))}


def test_codes_are_found_wherever_they_are_given() -> None:
    source = """
work.error(draft, "OneThing", "message")
yield self.scope.report(code="TwoThing", message="Message")
Problem(
    "ThreeThing" if wrong else "FourThing", "message", place
)
__all__ = ["FiveThing"]
other("SIX", "Seven", "eightThing")
"""
    assert sorted(codes_given(source)) == ["FourThing", "OneThing", "ThreeThing", "TwoThing"]


def test_every_code_that_is_given_is_registered_and_no_other() -> None:
    given, registered = all_codes_given(), set(registry())
    assert given - registered == set(), "not in diagnostics.toml"
    words = "".join(file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py"))
    assert {code for code in registered - given if f'"{code}"' not in words} == set(), "never given"


def test_every_registered_code_has_a_case_and_every_case_a_code() -> None:
    assert {path.stem for path in CASES.glob("*.txt")} == set(registry())


@pytest.mark.parametrize("path", sorted(CASES.glob("*.txt")), ids=lambda path: path.stem)
def test_the_severity_of_a_code_is_always_the_registered_one(path: Path) -> None:
    expected = [line.split()[:2] for line in read_case(path)[1]]
    assert {(code, severity) for severity, code in expected if registry()[code].severity != severity} == set()


@pytest.mark.parametrize("code", registry())
def test_an_entry_says_in_plain_words_what_why_and_what_to_do(code: str) -> None:
    kind = registry()[code]
    assert CODE.fullmatch(kind.code)
    assert all(text and text == text.strip() and "\n" not in text for text in (kind.summary, kind.why, kind.fix))
    assert len(kind.summary) <= 90
    assert not kind.summary.endswith(".")


def test_the_page_of_diagnostics_is_what_the_registry_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run `make docs`"
