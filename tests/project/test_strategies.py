"""What a strategy is stands in one table: all of them are in it, it is documented, and no room asks for a name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from tidegate.project.docs_tables import meanings, with_tables
from tidegate.project.model import ModelSettings
from tidegate.project.setting_keys import KEYS
from tidegate.project.strategies import STRATEGIES, Strategy, StrategyTraits

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tidegate"
PAGES = ["strategies.md", "configuration.md", "quarantine.md"]
MAY_NAME_ONE = {
    "project/strategies.py": "declares them",
    "project/setting_keys.py": "reads other spellings of them",
    "project/template_names.py": "has is_scd2() and others for templates",
    "python_models/model_api.py": "has is_scd2() for Python models",
    "write/__init__.py": "lists their writers",
}


def named_strategies(tree: ast.AST) -> Iterator[int]:
    """Lines with `Strategy.X`, `Strategy["X"]` or a comparison of a strategy with a name in quotes."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="Strategy")) | ast.Subscript(value=ast.Name(id="Strategy")):
                yield node.lineno
            case ast.Compare():
                sides = [node.left, *node.comparators]
                texts = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
                if texts & set(STRATEGIES) and any("strategy" in ast.unparse(side) for side in sides):
                    yield node.lineno


@pytest.mark.parametrize(
    "code",
    [
        "settings.strategy is Strategy.SCD2",
        "strategy in (Strategy.SCD2, other)",
        "Strategy['SCD2']",
        "settings.strategy == 'scd2'",
        "strategy in ('scd2', 'tracked')",
    ],
)
def test_a_decision_by_name_is_found(code: str) -> None:
    assert list(named_strategies(ast.parse(code)))


def test_no_room_decides_by_the_name_of_a_strategy() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path, text in texts.items()
        if str(path.relative_to(SOURCE)) not in MAY_NAME_ONE and "strategy" in text.lower()
        for line in named_strategies(ast.parse(text))
    }
    assert not found, "ask for a fact of ModelSettings.traits, declared in project/strategies.py"


def test_every_strategy_is_declared_and_has_a_writer() -> None:
    from tidegate.write import WRITERS

    assert list(STRATEGIES) == list(Strategy)
    assert set(WRITERS) == set(Strategy)


@pytest.mark.parametrize("strategy", Strategy)
def test_settings_that_are_declared_exist(strategy: Strategy) -> None:
    traits = STRATEGIES[strategy]
    known = {field.name for field in fields(ModelSettings)}
    assert {*traits.required_settings, *filter(None, [traits.key_setting])} <= known
    assert ModelSettings(strategy=strategy, unique_key=("a",), group_key=("b",)).key == {
        "unique_key": ("a",),
        "group_key": ("b",),
        None: (),
    }.get(traits.key_setting)


def test_a_model_file_cannot_name_a_strategy_of_contracts() -> None:
    with pytest.raises(ValueError, match="cannot be current_state, which only the silver table of a contract has"):
        KEYS["merge_strategy"].read("current_state")


def test_every_trait_says_what_it_means() -> None:
    assert [*meanings()] == [*(field.name for field in fields(StrategyTraits)), "key_required"]
    assert all(meanings().values())


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_say_what_the_code_says(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert re.search(r"<!-- (strategies|traits|refused) -->\n", text)
    assert with_tables(text) == text, "run `make docs`"
