"""Sources that do not answer: which models they stop, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.projects import ProjectFolder
from tests.sources.postgres import Postgres
from tidegate.errors import ProjectError, SourceError


def test_a_database_that_is_down_stops_the_run_before_any_work(pointer_shop: ProjectFolder, postgres: Postgres) -> None:
    postgres.execute("create table public.things (id bigint)")
    address = f"postgresql://postgres@127.0.0.1:{postgres.port}/postgres"
    config = '[project]\nname = "shop"\n[sources.erp]\nkind = "database"\nurl = "{}"\n'
    pointer_shop.file("tidegate.toml", config.format(address))
    pointer_shop.model("silver.things", "SELECT id FROM erp.public.things")
    result = pointer_shop.run()
    assert result.exit_code == 0, result.materializations
    pointer_shop.file("tidegate.toml", config.format("postgresql://postgres@127.0.0.1:1/postgres"))
    with pytest.raises((SourceError, ProjectError)):
        pointer_shop.run()


def test_only_the_sources_that_the_run_reads_must_answer(pointer_shop: ProjectFolder, tmp_path: Path) -> None:
    other = ProjectFolder(tmp_path / "other")
    pointer_shop.model("bronze.people", "SELECT 1 AS x")
    assert pointer_shop.run().exit_code == 0
    lake = pointer_shop.root / ".tidegate"
    other.file(
        "tidegate.toml",
        f'[project]\nname = "other"\n[sources.crm]\nkind = "catalog"\nnamespace = "shop"\n'
        f'catalog_path = "{lake}/catalog.db"\nwarehouse = "{lake}/warehouse"\n',
    )
    other.model("silver.own", "SELECT 1 AS id")
    other.model("silver.people", "SELECT x FROM crm.bronze.people")
    assert other.run("silver.own").exit_code == 0
    (lake / "catalog.db").rename(lake / "away.db")
    assert other.run("silver.own", full_refresh=True).exit_code == 0
    with pytest.raises(SourceError, match="source 'crm': its catalog is not there"):
        other.run()
    assert other.branches() == []


def test_a_source_that_is_down_stops_only_the_models_that_read_it(pointer_shop: ProjectFolder) -> None:
    """One of which nothing was ever known, and a table named by hand that is nowhere."""
    pointer_shop.file(
        "tidegate.toml",
        '[project]\nname = "shop"\n[sources.erp]\nkind = "manual"\ntables = ["public.orders"]\n'
        '[sources.crm]\nkind = "database"\nurl = "postgresql://postgres@127.0.0.1:1/postgres"\n',
    )
    pointer_shop.model("silver.first", "SELECT 1 AS id")
    pointer_shop.model("silver.orders", "SELECT id FROM erp.public.orders")
    pointer_shop.model("silver.people", "SELECT id FROM crm.public.people")
    pointer_shop.model("gold.people", "SELECT count(*) AS n FROM silver.people")
    pointer_shop.model("gold.first", "SELECT id FROM silver.first")
    result = pointer_shop.run()
    found = {m.model: (m.status, m.failure_kind) for m in result.materializations}
    assert found == {
        "gold.first": ("completed", None),
        "gold.people": ("blocked", None),
        "silver.first": ("completed", None),
        "silver.orders": ("failed", "NotFound"),
        "silver.people": ("failed", "ConnectionFailed"),
    }
    assert (result.status, result.exit_code) == ("partial", 2)
    assert set(result.publish.tables) == {"silver.first", "gold.first"}
    told = {m.model: (m.error or "", m.remedy or "") for m in result.materializations}
    assert told["silver.orders"][0] == "source 'erp': the table erp.public.orders is not in the lake"
    assert "spark.sql.catalog.erp" in told["silver.orders"][1]
    assert told["silver.people"][0].startswith("source 'crm': ")


def test_a_run_of_which_no_model_can_be_read_ends_before_any_work(pointer_shop: ProjectFolder) -> None:
    pointer_shop.file(
        "tidegate.toml", '[project]\nname = "shop"\n[sources.erp]\nkind = "manual"\ntables = ["public.orders"]\n'
    )
    pointer_shop.model("silver.orders", "SELECT id FROM erp.public.orders")
    pointer_shop.model("gold.orders", "SELECT id FROM silver.orders")
    with pytest.raises(SourceError, match="is not in the lake"):
        pointer_shop.run()
    assert (pointer_shop.main.heads(), pointer_shop.branches()) == ({}, [])
