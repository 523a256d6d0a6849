"""A checkpoint is a value of one column of one table: of another one it is no bound."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.landing_project import REST, LandingProject, ingestion
from tests.ingest.scripted_server import Answer, Call, ScriptedServer, serving
from tidegate.contracts.ingestion import Ingestion
from tidegate.errors import LandingError
from tidegate.ingest.bound_origin import bound_origin
from tidegate.ingest.bronze_position import BronzePosition, checkpoint_text, position_after

ROWS = [{"id": 1, "version": 9}, {"id": 2, "version": 3}]
INCREMENTAL = {
    **REST,
    "ingestion_read_strategy": "incremental",
    "ingestion_filtering_column": "id",
    "incremental_parameter": "since",
    "pagination": {"kind": "none"},
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    def answer(call: Call) -> Answer:
        since = int(call.query.get("since", 0))
        return Answer({"results": [row for row in ROWS if row["id"] > since]})

    with serving(answer) as started:
        yield started


def project(tmp_path: Path, server: ScriptedServer) -> LandingProject:
    return LandingProject(tmp_path, f'[sources.shop]\nkind = "rest"\nbase_url = "{server.url}"\n')


def contract(strategy: str = "current_state", **properties: Any) -> Ingestion:
    found = ingestion(**{**INCREMENTAL, **properties})
    return dataclasses.replace(found, silver=dataclasses.replace(found.silver, strategy=strategy))


CHANGES = [
    {"ingestion_filtering_column": "version"},
    {"endpoint": "/archive"},
    {"incremental_parameter": "from"},
    {"source": "shop2"},
]


@pytest.mark.parametrize("change", CHANGES)
def test_another_column_or_table_is_read_from_the_start(
    tmp_path: Path, server: ScriptedServer, change: dict[str, str]
) -> None:
    shop = project(tmp_path, server)
    shop.toml += shop.toml.replace("shop", "shop2")
    first = shop.land(contract())
    assert (first.checkpoint, first.notes) == ("2", ())
    for consumed in ((), first.files):  # landed and not yet in bronze; in bronze
        zone = tmp_path / f"copy{len(consumed)}"
        zone.mkdir()
        (zone / "landing").mkdir()
        shutil.copytree(shop.zone, zone / "landing/orders")
        copy = LandingProject(zone, shop.toml, runs=1)
        position = position_after(copy.zone, consumed, BronzePosition())
        done = copy.land(
            contract(**change), consumed=consumed, checkpoint=position.checkpoint, checkpoint_of=position.checkpoint_of
        )
        assert (done.bounds.lower, done.rows) == (None, 2)
        (note,) = done.notes
        assert note.startswith("the checkpoint is a value of 'id' of /orders in rest shop, and the contract now reads")
        after = position_after(copy.zone, [*first.files, *done.files], BronzePosition())
        assert after.checkpoint_of == bound_origin(contract(**change).source)
        assert copy.land(contract(**change)).notes == ()


def test_rows_without_a_key_are_not_read_twice(tmp_path: Path, server: ScriptedServer) -> None:
    shop = project(tmp_path, server)
    shop.land(contract("append"))
    with pytest.raises(LandingError, match=r"table silver\.orders, whose rows have no key \(append\)") as caught:
        shop.land(contract("append", ingestion_filtering_column="version"))
    assert "another landing_directory and bronze_table" in str(caught.value.remedy)
    assert len(shop.pages()) == 1


def test_what_is_no_part_of_the_bound_leaves_it_in_force(tmp_path: Path, server: ScriptedServer) -> None:
    shop = project(tmp_path, server)
    shop.land(contract())
    assert shop.land(contract(content_path="results", batch_size=7)).bounds.lower == "2"


def test_a_checkpoint_from_before_origins_were_recorded_stays_in_force(tmp_path: Path, server: ScriptedServer) -> None:
    shop = project(tmp_path, server)
    assert shop.land(contract(), checkpoint="1").bounds.lower == "1"
    assert json.loads(checkpoint_text(BronzePosition("1")))["checkpoint_of"] is None


def test_the_origin_has_no_credentials() -> None:
    endpoint = "https://user:hunter2secret@example.com/orders?token=hunter2secret"
    origin = bound_origin(dataclasses.replace(contract().source, endpoint=endpoint))
    assert "hunter2" not in checkpoint_text(BronzePosition("1", origin))
