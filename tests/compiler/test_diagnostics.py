"""Each file of tests/cases/compile is a small project and the diagnostics it must give: no more, no fewer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tidegate
from tests.compiler.projects import build

CASES = Path(__file__).parents[1] / "cases" / "compile"
SOURCE = Path(tidegate.__file__).parent


def read_case(path: Path) -> tuple[dict[str, str], list[str]]:
    parts = re.split(r"^--- (.*)\n", path.read_text(), flags=re.MULTILINE)[1:]
    files = dict(zip(parts[::2], parts[1::2], strict=True))
    return files, files.pop("expect").splitlines()


@pytest.mark.parametrize("path", sorted(CASES.glob("*.txt")), ids=lambda path: path.stem)
def test_project_gives_exactly_these_diagnostics(path: Path, tmp_path: Path) -> None:
    files, expected = read_case(path)
    found = build(tmp_path, files).compiled.diagnostics
    shown = [f"{d.severity} {d.code} {d.span.file}:{d.span.line}:{d.span.col}" for d in found if d.span]
    heads = [re.match(r"\w+ \w+ .*?:\d+:\d+", line)[0] for line in expected]  # type: ignore[index]
    assert shown == heads, "\n".join(f"{d.message} ({d.suggestion})" for d in found)
    for line, head, diagnostic in zip(expected, heads, found, strict=True):
        assert line[len(head) :].strip() in (diagnostic.suggestion or "")
        assert diagnostic.message
    assert path.stem in {d.code for d in found}


def test_every_code_has_a_case() -> None:
    files = [*(SOURCE / "compiler").rglob("*.py"), *(SOURCE / "project").rglob("*.py")]
    pattern = re.compile(
        r"(?:Problem|SqlFault|work\.error|work\.warning|Diagnostic)\(\s*(?:draft, |severity, )?\"([A-Z][A-Za-z]+)\""
    )
    codes = {code for file in files for code in pattern.findall(file.read_text())}
    assert codes
    assert codes == {path.stem for path in CASES.glob("*.txt")}
