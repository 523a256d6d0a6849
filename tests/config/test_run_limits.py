"""[run] retries, time-outs and when to give up."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tidegate.config import RunSection, load_settings
from tidegate.errors import ConfigError


def run_of(root: Path, text: str, **env: str) -> RunSection:
    (root / "tidegate.toml").write_text(f"[run]\n{text}")
    return load_settings(root, env=env).run


def test_without_settings_there_are_retries_and_no_limits(tmp_path: Path) -> None:
    run = run_of(tmp_path, "")
    assert (run.retries, run.retry_max_delay) == (20, timedelta(minutes=5))
    assert (run.timeout, run.model_timeout, run.error_rate_abort, run.memory_limit) == (None, None, None, None)


def test_all_are_read(tmp_path: Path) -> None:
    text = """
retries = 3
retry_max_delay = "90s"
timeout = "2h"
model_timeout = "10m"
max_concurrency = 4
cooldown_seconds = 7
breaker_failures = 2
breaker_pause = "1m"
error_rate_abort = 0.25
error_rate_models = 8
memory_limit = "6g"
"""
    assert run_of(tmp_path, text) == RunSection(
        retries=3,
        retry_max_delay=timedelta(seconds=90),
        timeout=timedelta(hours=2),
        model_timeout=timedelta(minutes=10),
        max_concurrency=4,
        cooldown_seconds=7,
        breaker_failures=2,
        breaker_pause=timedelta(minutes=1),
        error_rate_abort=0.25,
        error_rate_models=8,
        memory_limit=6 * 2**30,
    )


@pytest.mark.parametrize(("text", "size"), [("800m", 800 * 2**20), ("1GB", 2**30), ("2t", 2**41), ("64k", 2**16)])
def test_a_size_has_a_unit(tmp_path: Path, text: str, size: int) -> None:
    assert run_of(tmp_path, f'memory_limit = "{text}"').memory_limit == size


@pytest.mark.parametrize(("text", "share"), [("1", 1.0), ('"${SHARE}"', 0.5)])
def test_a_share_may_be_a_whole_and_may_come_from_the_environment(tmp_path: Path, text: str, share: float) -> None:
    assert run_of(tmp_path, f"error_rate_abort = {text}", SHARE="0.5").error_rate_abort == share


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("error_rate_abort = 0", "must be a share above 0 and up to 1, such as 0.5, not 0"),
        ("error_rate_abort = 50", "must be a share above 0 and up to 1, such as 0.5, not 50"),
        ('error_rate_abort = "half"', "must be a share above 0 and up to 1, such as 0.5, not 'half'"),
        ("error_rate_abort = true", "must be a share above 0 and up to 1, such as 0.5, not true"),
        ("memory_limit = 6", "must be a non-empty text, not 6"),
        ('memory_limit = "six"', "must be a size such as 6g or 800m, not 'six'"),
        ("retries = -1", "must be a whole number of 0 or more, not -1"),
        ("max_concurrency = 0", "must be a whole number of 1 or more, not 0"),
        ('timeout = "long"', "is not a length of time"),
    ],
)
def test_a_wrong_value_is_told(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run_of(tmp_path, text)
    [told] = caught.value.problems
    assert told.startswith("tidegate.toml:2: ")
    assert problem in told
