"""`[chunks]` and its environment variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.test_settings import problems_of, settings_of
from tidegate.config import CHUNK_VARIABLES, ChunkSource, ChunksSection

SOURCE = '[chunks.sources.orders]\ncontract = "orders.odcs.yml"\n'


def test_the_defaults(tmp_path: Path) -> None:
    chunks = settings_of(tmp_path, "").chunks
    assert chunks == ChunksSection(root=str(tmp_path))
    assert (chunks.default_chunk_size, chunks.delta_client_batch_size) == (10_000, 100_000)
    assert (chunks.delta_client_write_retries, chunks.delta_client_write_retry_delay) == (5, 10)
    assert (chunks.delta_client_write_retry_backoff, chunks.delta_client_write_retry_max_delay) == (2, 180)
    assert (chunks.delta_client_write_retry_jitter, chunks.delta_vacuum_retention_hours) == (10, 168)


@pytest.mark.parametrize(("variable", "key"), CHUNK_VARIABLES.items())
def test_the_environment_wins_over_the_file(tmp_path: Path, variable: str, key: str) -> None:
    text = f"[chunks]\n{key} = 3\n"
    assert getattr(settings_of(tmp_path, text).chunks, key) == 3
    assert getattr(settings_of(tmp_path, text, **{variable: "7"}).chunks, key) == 7
    assert getattr(settings_of(tmp_path, text, **{variable: ""}).chunks, key) == 3


def test_wrong_numbers_are_problems_with_their_line(tmp_path: Path) -> None:
    text = "[chunks]\ndefault_chunk_size = 0\ndelta_client_write_retry_delay = -1\n"
    assert problems_of(tmp_path, text, DELTA_CLIENT_BATCH_SIZE="many") == [
        "tidegate.toml:1: environment variable DELTA_CLIENT_BATCH_SIZE must be a whole number of 1 or more, not 'many'",
        "tidegate.toml:2: 'default_chunk_size' in [chunks] must be a whole number of 1 or more, not 0",
        "tidegate.toml:3: 'delta_client_write_retry_delay' in [chunks] must be a number of seconds, 0 or more, not -1",
    ]


def test_a_source(tmp_path: Path) -> None:
    text = '[chunks]\nroot = "data"\n' + SOURCE + 'pattern = "o-*.json"\nprimary_key = ["id"]\npartition_key = "day"\n'
    chunks = settings_of(tmp_path, text).chunks
    assert chunks.root == str(tmp_path / "data")
    assert chunks.sources["orders"] == ChunkSource(
        "orders", "o-*.json", contract="orders.odcs.yml", primary_key=("id",), partition_key="day"
    )


def test_a_source_has_its_own_folder(tmp_path: Path) -> None:
    assert settings_of(tmp_path, SOURCE).chunks.sources["orders"].pattern == "orders/**"


def test_the_root_may_be_a_bucket(tmp_path: Path) -> None:
    assert settings_of(tmp_path, '[chunks]\nroot = "s3://lake/raw/"').chunks.root == "s3://lake/raw"


def test_the_root_holds_no_keys(tmp_path: Path) -> None:
    assert problems_of(tmp_path, '[chunks]\nroot = "s3://AKIA:topsecret@lake/raw"\n') == [
        "tidegate.toml:2: 'root' in [chunks] must be s3://bucket/prefix, without keys: it is shown and recorded"
    ]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("", "must have 'contract' (an ODCS file) or 'model' (a pydantic class)"),
        ('contract = "a.yml"\nmodel = "m:M"\nprimary_key = ["a"]', "has a contract and a model: keep one of them"),
        ('model = "m:M"', "must have 'primary_key', the columns that identify a row of its model"),
        ('model = "models/orders.py"\nprimary_key = ["a"]', "a class as in 'shop.orders:Order'"),
        ('contract = "a.yml"\npattern = "../x.json"', "relative to bronze/, such as 'orders/*.json', or the name"),
        ('contract = "a.yml"\nprimary_key = ["a", "A"]', "names a column twice"),
        ('contract = "a.yml"\ndelimiter = "||"', "'delimiter' in [chunks.sources.orders] must be one character"),
        ('contract = "a.yml"\nkey = "a"', "unknown key 'key' in [chunks.sources.orders]"),
    ],
)
def test_a_source_that_is_wrong(tmp_path: Path, lines: str, problem: str) -> None:
    found = problems_of(tmp_path, f"[chunks.sources.orders]\n{lines}\n")
    assert len(found) == 1
    assert problem in found[0]


@pytest.mark.parametrize("root", ["s3:/lake/raw", "gs://lake/raw"])
def test_a_root_that_is_no_place_is_named(tmp_path: Path, root: str) -> None:
    assert problems_of(tmp_path, f'[chunks]\nroot = "{root}"\n') == [
        f"tidegate.toml:2: 'root' in [chunks] must be a folder, or s3://bucket/prefix, not '{root}'"
    ]
