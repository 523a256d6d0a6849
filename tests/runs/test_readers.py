"""Readers of main while it moves: all old or all new, never a mix."""

from __future__ import annotations

import os
import threading

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.projects import ProjectFolder
from tidegate.lake.branch_catalog import Heads
from tidegate.lake.metadata import TableMetadata, read_metadata

pytestmark = pytest.mark.spark

RUNS, TABLES = (20, 10) if os.environ.get("TIDEGATE_PROVE") else (2, 4)


def test_a_reader_never_sees_a_mix_of_two_publishes(shop: ProjectFolder) -> None:
    for n in range(TABLES):
        shop.model(f"a.t{n}", "SELECT {{ var('generation') }} AS generation, id FROM range(5)")
    assert shop.run(vars={"generation": "0"}).exit_code == 0
    union = " UNION ALL ".join(f"SELECT generation FROM a.t{n}" for n in range(TABLES))
    seen: list[Heads] = []
    sizes: set[int] = set()
    answers: list[list[tuple[int]]] = []
    stop = threading.Event()

    def watch_heads() -> None:
        catalog = shop.catalog
        while not stop.wait(0.05):
            seen.append(catalog.head())

    def read_one_table() -> None:
        settings = shop.settings
        lake = SqlCatalog(
            "main", uri=f"sqlite:///{settings.lake.catalog_path}", warehouse=settings.lake.warehouse.as_uri()
        )
        while not stop.wait(0.05):
            sizes.add(len(lake.load_table("shop.a.t3").scan().to_arrow()))

    def ask_several_tables() -> None:
        while not stop.is_set():
            answers.append(shop.rows(f"SELECT DISTINCT generation FROM ({union})"))

    threads = [threading.Thread(target=work) for work in (watch_heads, read_one_table, ask_several_tables)]
    for thread in threads:
        thread.start()
    try:
        for generation in range(1, RUNS + 1):
            result = shop.run(vars={"generation": str(generation)})
            assert len(result.publish.tables) == TABLES
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    makers = {_makers(heads) for heads in seen}
    assert all(len(runs) == 1 for runs in makers), makers
    assert len(makers) >= 2
    assert sizes == {5}
    assert answers
    assert all(len(answer) == 1 for answer in answers), answers


def _makers(heads: Heads) -> frozenset[str]:
    runs = set()
    for pointer in heads.values():
        metadata = read_metadata(pointer)
        assert isinstance(metadata, TableMetadata)
        assert metadata.current is not None
        runs.add(metadata.current.summary["tidegate.run-id"])
    return frozenset(runs)
