"""A variable of --var that nothing asks for: refused by every command that takes one, before Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call

COMMANDS = [["run"], ["plan"], ["compile"], ["test"], ["lineage", "gold.big"]]


@pytest.fixture
def shop(project: Path) -> Path:
    (project / "tidegate.toml").write_text('[project]\nname = "shop"\n[vars]\nmin_amount = "1"\n')
    (project / "models" / "gold").mkdir(parents=True)
    (project / "models" / "gold" / "big.sql").write_text(
        "-- @description: {{ var(x) }} is text here\nSELECT 1 AS id WHERE 1 >= {{ var('min_amount') }}"
    )
    (project / "macros").mkdir()
    (project / "macros" / "days.sql").write_text("{% macro days() %}{{ var('last_days', '7') }}{% endmacro %}")
    return project


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_misspelt_variable_is_refused_with_the_name_that_was_meant(
    command: list[str], shop: Path, tidegate: Call
) -> None:
    outcome = tidegate(*command, "--var", "min_amout=3")
    text = outcome.out + outcome.err
    assert outcome.code != 0, text
    assert "--var min_amout" in text
    assert "did you mean min_amount?" in text
    assert not (shop / ".tidegate" / "logs").exists()


@pytest.mark.parametrize("given", ["min_amount=3", "last_days=3"])
def test_a_variable_of_the_settings_or_of_a_macro_is_taken(given: str, shop: Path, tidegate: Call) -> None:
    assert tidegate("compile", "--var", given).code == 0


def test_names_that_are_known_are_listed_where_none_is_near(shop: Path, tidegate: Call) -> None:
    assert "known are last_days, min_amount" in tidegate("compile", "--var", "colour=red").err


@pytest.mark.parametrize("template", ["{{ var('min_' ~ 'amout') }}", "{% set v = var %}{{ v('min_amout') }}"])
def test_a_template_that_computes_names_may_ask_for_any(template: str, shop: Path, tidegate: Call) -> None:
    (shop / "models" / "gold" / "other.sql").write_text(f"SELECT {template} AS id")
    assert tidegate("compile", "--var", "min_amout=3").code == 0


def test_a_quality_test_may_ask_for_it(shop: Path, tidegate: Call) -> None:
    folder = shop / "models" / "gold" / "small"
    (folder / "tests" / "quality").mkdir(parents=True)
    (folder / "pipeline.sql").write_text("SELECT 1 AS id")
    (folder / "tests" / "quality" / "low.sql").write_text("SELECT * FROM {{ this }} WHERE id < {{ var('low', 0) }}")
    outcome = tidegate("compile", "--var", "low=3")
    assert outcome.code == 0, outcome.out + outcome.err
