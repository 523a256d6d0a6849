"""A realistic project gives no diagnostic; with every mistake of the list in it at once, exactly theirs."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tidegate.compiler import Diagnostic, compile_project
from tidegate.compiler.compile_cache import CompileCache
from tidegate.config import load_settings
from tidegate.project import load_project
from tidegate.sources import known_tables

CASES = Path(__file__).parents[1] / "cases" / "planted"


@dataclass(frozen=True, slots=True)
class Mistake:
    """An edit of one file, and the diagnostic it must give. `old` is empty where the edit makes the file."""

    title: str
    told: str
    suggestion: str
    file: str
    old: str
    new: str

    def plant(self, root: Path) -> None:
        path = root / self.file
        text = path.read_text() if self.old else ""
        assert text.count(self.old) == 1, f"{self.title}: the text to change must be in {self.file} once"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(self.old, self.new) if self.old else self.new)


def read_mistakes() -> Iterator[Mistake]:
    parts = re.split(r"^--- (.*)\n", (CASES / "mistakes.txt").read_text(), flags=re.MULTILINE)[1:]
    for title, block in zip(parts[::2], parts[1::2], strict=True):
        head, *lines = block.strip().splitlines()
        place = re.match(r"(\w+ \w+ (\S+):\d+) ?(.*)", head)
        assert place, f"{title}: '{head}' is not 'severity Code file:line'"
        file = next((line.removeprefix("in ") for line in lines if line.startswith("in ")), place[2])
        old, new = ("\n".join(line[2:] for line in lines if line.startswith(sign)) for sign in ("- ", "+ "))
        yield Mistake(title, place[1], place[3], file, old, new)


MISTAKES = tuple(read_mistakes())


def shown(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    return f"{diagnostic.severity} {diagnostic.code} {span.file}:{span.line}" if span else diagnostic.message


def compile_at(root: Path, cache: CompileCache | None = None) -> tuple[Diagnostic, ...]:
    settings = load_settings(root, env={})
    sources = known_tables(settings, refresh=False)
    return compile_project(load_project(settings), settings, (), {}, sources, cache).diagnostics


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The clean project, always in the same place."""
    root = tmp_path_factory.getbasetemp() / "paperboat"
    shutil.copytree(CASES / "clean", root)
    yield root
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def cache() -> CompileCache:
    """What is unchanged from one test to the next is not compiled again."""
    return CompileCache()


def test_the_clean_project_gives_no_diagnostics(project: Path) -> None:
    assert [f"{shown(found)} {found.message}" for found in compile_at(project)] == []


def test_all_mistakes_are_found_in_one_run_each_at_its_line_and_nothing_else(project: Path) -> None:
    for mistake in MISTAKES:
        mistake.plant(project)
    found = compile_at(project)
    expected = Counter(mistake.told for mistake in MISTAKES)
    told = Counter(map(shown, found))
    details = [f"{shown(each)}: {each.message} ({each.suggestion})" for each in found]
    assert sorted((expected - told).elements()) == [], "\n".join(["not found; told were:", *details])
    assert sorted((told - expected).elements()) == [], "\n".join(["told too much:", *details])
    for mistake in MISTAKES:
        assert any(shown(each) == mistake.told and mistake.suggestion in (each.suggestion or "") for each in found)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.title)
def test_one_mistake_alone_gives_one_diagnostic(mistake: Mistake, project: Path, cache: CompileCache) -> None:
    mistake.plant(project)
    assert list(map(shown, compile_at(project, cache))) == [mistake.told]


def test_the_list_has_thirty_mistakes_or_more_each_in_a_file_of_its_own() -> None:
    assert len(MISTAKES) >= 30
    assert len({mistake.file for mistake in MISTAKES}) == len(MISTAKES)
