"""Contracts whose source delivers complete snapshots: what one lacks is deleted, also where all are read again."""

from __future__ import annotations

import os

import pytest

from tests.projects import ProjectFolder

pytestmark = pytest.mark.spark

CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: {table}
version: 1.0.0
status: active
schema:
  - name: {table}_source
    customProperties:
      - {{property: connector, value: landing_push}}
      - {{property: source_system, value: shop}}
      - {{property: landing_directory, value: people}}
      - {{property: landing_file_format, value: csv}}
      - {{property: ingestion_read_strategy, value: full_snapshot}}
      - {{property: bronze_table, value: {table}}}
    properties: [{{name: id, logicalType: string}}, {{name: city, logicalType: string}}]
  - name: {table}
    customProperties:
      - {{property: silver_write_strategy, value: {strategy}}}
      - {{property: deletion_enabled, value: true}}
      - {{property: deletion_detection, value: inferred}}
      - {{property: deletion_mode, value: hard}}
    properties:
      - {{name: id, physicalType: bigint, logicalType: integer, primaryKey: true}}
      - {{name: city, physicalType: string, logicalType: string, logicalTypeOptions: {{maxLength: {longest}}}}}
"""


ALL = "deletion_mode, value: hard}\n      - {property: deletion_max_ratio, value: 1}"


def contracts(shop: ProjectFolder, longest: int) -> None:
    for table, strategy in (("people", "current_state"), ("moves", "history")):
        shop.file(f"contracts/{table}.odcs.yml", CONTRACT.format(table=table, strategy=strategy, longest=longest))


def live(shop: ProjectFolder) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    return shop.rows("SELECT id FROM silver.people"), shop.rows("SELECT id FROM silver.moves WHERE is_current")


def test_a_changed_contract_brings_no_deleted_key_back(shop: ProjectFolder) -> None:
    contracts(shop, longest=9)
    shop.file("landing/people/1.csv", "id,city\n1,Paris\n2,Bonn\n3,Rome\n4,Oslo\n")
    assert shop.run().exit_code == 0
    shop.file("landing/people/2.csv", "id,city\n1,Paris\n2,Bonn\n3,Rome\n")
    assert shop.run().exit_code == 0
    assert live(shop) == ([(1,), (2,), (3,)], [(1,), (2,), (3,)])

    contracts(shop, longest=8)
    shop.file("landing/people/3.csv", "id,city\n1,Paris\n5,Riga\nx,Bonn\n")
    result = shop.run()
    assert result.exit_code == 0
    assert any("no deletion was inferred" in warning for warning in result.warnings)
    assert live(shop) == ([(1,), (2,), (3,), (5,)], [(1,), (2,), (3,), (5,)])


def test_a_rebuild_of_bronze_and_silver_sees_the_snapshots_as_they_came(shop: ProjectFolder) -> None:
    """Three files that the bronze table took one by one; silver takes the last two at once, and then all of them."""
    contracts(shop, longest=9)
    shop.file("landing/people/1.csv", "id,city\n1,Paris\n2,Bonn\n3,Rome\n")
    assert shop.run().exit_code == 0
    shop.file("landing/people/2.csv", "id,city\n1,Paris\n3,Rome\n4,a,b\n")
    assert shop.run("bronze.people", "bronze.moves").exit_code == 0
    shop.file("landing/people/3.csv", "id,city\n1,Paris\n3,Rome\n")
    assert shop.run("bronze.people", "bronze.moves").exit_code == 0
    shop.file("landing/people/4.csv", "id,city\n1,Paris\n2,Bonn\n3,Rome\n")
    assert shop.run().exit_code == 0
    assert live(shop) == ([(1,), (2,), (3,)], [(1,), (2,), (3,)])
    states = [
        "SELECT * FROM bronze.moves",
        "SELECT * FROM silver.moves",
        "SELECT id, city FROM silver.people",
    ]
    before = [shop.rows(query) for query in states]
    ended = "SELECT m.id, b._source_file FROM silver.moves m JOIN bronze.moves b ON m.valid_to = b._commit_time"
    assert set(shop.rows(ended)) == {(2, "people/3.csv")}

    rebuilt = shop.run(full_refresh=True, confirmed=True)
    assert rebuilt.exit_code == 0
    assert [shop.rows(query) for query in states] == before

    (shop.root / "landing/people/3.csv").unlink()
    assert shop.run("bronze.moves", "silver.moves", full_refresh=True, confirmed=True).exit_code == 0
    assert shop.rows("SELECT id, valid_to IS NULL FROM silver.moves") == [(1, True), (2, True), (3, True)]


def test_a_file_that_comes_again_unchanged_beside_others_deletes_nothing(shop: ProjectFolder) -> None:
    shop.file("contracts/people.odcs.yml", CONTRACT.format(table="people", strategy="current_state", longest=9))
    first = shop.file("landing/people/a.csv", "id,city\n1,Paris\n2,Bonn\n")
    shop.file("landing/people/b.csv", "id,city\n3,Rome\n4,Oslo\n5,Riga\n")
    assert shop.run().exit_code == 0
    shop.file("landing/people/b.csv", "id,city\n3,Rome\n4,Oslo\n6,Kyiv\n")
    os.utime(first, ns=(1, 1))
    result = shop.run()
    (failed,) = [model for model in result.materializations if model.model == "bronze.people"]
    assert "a.csv in landing zone people came again" in str(failed.error)
    assert shop.rows("SELECT id FROM silver.people") == [(1,), (2,), (3,), (4,), (5,)]

    first.rename(first.with_name("a-2.csv"))
    assert shop.run().exit_code == 0
    assert shop.rows("SELECT id FROM silver.people") == [(1,), (2,), (3,), (4,), (6,)]


def test_snapshots_come_in_the_order_of_their_reads_whatever_the_clock_says(shop: ProjectFolder) -> None:
    """Two that wait for bronze, and a third one; the clock goes back before the second, and before the third."""
    text = CONTRACT.format(table="people", strategy="current_state", longest=9)
    files = "connector, value: files}\n      - {property: endpoint, value: drop/*.csv}\n"
    text = text.replace("connector, value: landing_push}\n", files)
    shop.file("contracts/people.odcs.yml", text.replace("deletion_mode, value: hard}", ALL))
    for clock, rows, expected in (
        ("2024-06-01T12:00:00", "1,Paris\n2,Bonn\n3,Rome\n", []),
        ("2024-06-01T11:00:00", "1,Oslo\n4,Riga\n", [(1, "Oslo"), (4, "Riga")]),
        ("2024-06-01T10:00:00", "1,Kyiv\n5,Cork\n", [(1, "Kyiv"), (5, "Cork")]),
    ):
        shop.clock.set(clock)
        shop.file("drop/a.csv", f"id,city\n{rows}")
        assert shop.run(no_publish=not expected).exit_code == 0
        if expected:
            assert shop.rows("SELECT id, city FROM silver.people") == expected
