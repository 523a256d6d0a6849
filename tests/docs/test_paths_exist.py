"""What the pages about the code name is there: paths, and the names in parentheses behind them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "tidegate"
PAGES = ("architecture.md", "extending.md")
_PATH = re.compile(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:py|toml|md))`")
_NAMED = re.compile(r"`([\w./]+\.py)` \(`(\w+)`\)")
_USERS_FILES = {"tidegate.toml"}


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page: str) -> None:
    paths = set(_PATH.findall(_text(page))) - _USERS_FILES
    assert len(paths) > 20
    assert {path for path in paths if not (PACKAGE / path).exists() and not (ROOT / path).exists()} == set()


@pytest.mark.parametrize("adr", sorted((ROOT / "docs" / "adr").glob("*.md")), ids=lambda adr: adr.stem)
def test_every_module_that_a_decision_names_exists(adr: Path) -> None:
    named = re.findall(r"`([\w/]+\.py)`", adr.read_text("utf-8"))
    assert [path for path in named if not [*PACKAGE.rglob(path), *(ROOT / "tests").rglob(path)]] == []


def test_every_name_is_in_its_file() -> None:
    named = _NAMED.findall(_text("extending.md"))
    assert len(named) > 5
    assert [(path, name) for path, name in named if not re.search(rf"\b{name}\b", _source(path))] == []


def test_every_decision_is_listed() -> None:
    page = _text("architecture.md")
    assert [adr.name for adr in sorted((ROOT / "docs" / "adr").glob("*.md")) if f"](adr/{adr.name})" not in page] == []


def test_every_room_is_described() -> None:
    page = _text("architecture.md")
    rooms = [folder.name for folder in sorted(PACKAGE.iterdir()) if (folder / "__init__.py").is_file()]
    assert [room for room in rooms if f"**`{room}/`**" not in page] == []


def _text(page: str) -> str:
    return (ROOT / "docs" / page).read_text("utf-8")


def _source(path: str) -> str:
    return (PACKAGE / path).read_text("utf-8")
