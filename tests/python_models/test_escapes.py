"""The programs of tests/cases/escapes obtain no secret: not past the check and the walls, nor past either alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.python_models.escapes.attempts import PlantedShop
from tests.python_models.escapes.plants import planted
from tests.python_models.escapes.programs import SECRETS, groups, programs
from tidegate.compiler.passes import untrusted_code
from tidegate.compiler.python_code import check_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLACES = {"SECRET_PORT": 4242, "CONNECT_PORT": 15002, "VICTIM_PID": 42, "FUNCTION_NAME": "reads"}
"""Placeholders that are no text."""

GROUPS = groups()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[PlantedShop]:
    with planted() as plants:
        yield PlantedShop(tmp_path_factory.mktemp("escapes") / "shop", plants, spark)


def test_corpus_covers_every_secret_and_each_category_has_a_sample() -> None:
    every = programs()
    assert len(every) >= 130
    assert {program.seeks for program in every} >= set(SECRETS)
    sampled = {program.category for program in every if program.sampled}
    assert {program.category for program in every} == sampled


def test_check_refuses_every_program_that_the_corpus_does_not_mark_as_accepted() -> None:
    unlike = {
        str(program): found
        for program in programs()
        if program.accepted == bool(found := check_source(program.source(_PLACES), f"models/{program.table}.py"))
    }
    assert unlike == {}


@pytest.mark.spark
@pytest.mark.parametrize("group", GROUPS)
def test_walls_alone_keep_every_secret(group: str, shop: PlantedShop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrusted_code, "_problems", lambda *_: iter(()))
    attempts, leaks = shop.attempts(GROUPS[group])
    assert leaks == []
    assert {one.ended for one in attempts} <= {"diagnostic", "failed", "completed"}


@pytest.mark.spark
@pytest.mark.parametrize("group", GROUPS)
def test_check_alone_keeps_every_secret(group: str, shop: PlantedShop) -> None:
    """What it accepts runs inside this process, and finds nothing."""
    accepted = [program for program in GROUPS[group] if program.accepted and program.seeks in SECRETS]
    _, leaks = shop.attempts(accepted, mode="trusted")
    assert leaks == []


@pytest.mark.spark
@pytest.mark.parametrize("group", GROUPS)
def test_check_and_walls_keep_every_secret(group: str, shop: PlantedShop) -> None:
    attempts, leaks = shop.attempts(GROUPS[group])
    assert leaks == []
    refused = {one.program for one in attempts if one.ended == "diagnostic"}
    assert refused >= {program for program in GROUPS[group] if not program.accepted}
