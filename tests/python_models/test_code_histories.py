"""Whole histories under Python models that read changes: after every run each table is what a query gives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.projects import ProjectFolder, make_project, shop
from tests.runs.test_histories import PROVE, SEEDS, STEPS, Case, World, assert_equal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["make_project", "shop"]

pytestmark = pytest.mark.spark

_MODELS = Path(__file__).parents[1] / "cases" / "histories" / "code.txt"
_TRUSTED = ("doubled", "below")


def write_models(shop: ProjectFolder) -> list[Case]:
    cases = []
    for block in _MODELS.read_text().split("\n--- ")[1:]:
        head, text = block.split("\n", 1)
        name, *words = head.split()
        code, sql = text.split("\n===\n")
        shop.file(f"models/gold/{name}.py", "".join(f"# @{word.replace('=', ': ')}\n" for word in words) + code)
        cases.append(Case(f"gold.{name}", {}, sql.strip()))
    files = ", ".join(f'"models/gold/{name}.py"' for name in _TRUSTED)
    settings = shop.root / "tidegate.toml"
    settings.write_text(f"{settings.read_text()}\n[sandbox]\ntrusted = [{files}]\n")
    return cases


@pytest.mark.parametrize("seed", SEEDS)
def test_after_every_run_each_table_is_what_a_query_gives(shop: ProjectFolder, spark: SparkSession, seed: int) -> None:
    world, cases, seen = World(shop, spark, seed), write_models(shop), Counter[str]()
    for step in range(STEPS):
        result = shop.run(allow_deletes=True)
        failed = [(m.model, m.error) for m in result.materializations if m.status not in ("completed", "skipped")]
        assert not failed, f"seed {seed}, step {step}: {failed}"
        seen.update(str(m.run_type) for m in result.materializations)
        assert_equal(world, cases, f"seed {seed}, step {step}")
        if step < STEPS - 1:
            world.change()
    assert seen["incremental"] > len(cases) * (STEPS - 1) / 3 or PROVE, seen
