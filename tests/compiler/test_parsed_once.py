"""A query is parsed once, also where its shape is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import build
from tidegate.compiler.sql import queries, row_by_row, script
from tidegate.compiler.sql.queries import ParsedQuery, SqlFault
from tidegate.compiler.sql.row_by_row import Obstacle


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the parser is given after this."""
    texts: list[str] = []

    def parse_query(text: str) -> ParsedQuery | SqlFault:
        texts.append(text)
        return queries.parse_query(text)

    monkeypatch.setattr(script, "parse_query", parse_query)
    return texts


def test_an_ephemeral_model_is_not_parsed_again(tmp_path: Path, parsed: list[str]) -> None:
    files = {
        "models/bronze/a.sql": "select 1 as id",
        "models/silver/part.sql": "-- @materialized: ephemeral\nselect id from bronze.a",
        "models/gold/x.sql": "select id from silver.part",
    }
    assert build(tmp_path, files).compiled.errors == ()
    assert parsed == []


@pytest.mark.parametrize(
    "sql", ["SELECT id, upper(v) AS v FROM bronze.a WHERE id > 0", "SELECT max(id) AS id FROM bronze.a"]
)
def test_the_shape_of_a_parsed_query_is_read_from_its_tree(parsed: list[str], sql: str) -> None:
    query = queries.parse_query(sql)
    assert isinstance(query, ParsedQuery)
    meta = dict(query.tree.meta)
    by_tree, by_text = row_by_row.read_row_query(query), row_by_row.read_row_query(sql)
    assert parsed == [sql]
    assert query.tree.meta == meta
    if isinstance(by_text, Obstacle):
        assert by_tree == by_text
    else:
        assert not isinstance(by_tree, Obstacle)
        assert (by_tree.script.text, by_tree.begins) == (by_text.script.text, by_text.begins)
