"""When a command uses a worker: by the settings, the options, and whether somebody sits at a terminal."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tidegate.cli.invocation import Invocation, open_workspace
from tidegate.config import load_settings
from tidegate.errors import ConfigError
from tidegate.spark.leased_session import leased_session


def project(folder: Path, line: str = "") -> Path:
    (folder / "tidegate.toml").write_text(f'[project]\nname = "shop"\n\n[spark]\n{line}\n')
    return folder


@pytest.mark.parametrize(
    ("line", "keep_alive"),
    [
        ("", None),
        ('keep_alive = "90s"', timedelta(seconds=90)),
        ('keep_alive = "off"', timedelta()),
        ("keep_alive = 0", timedelta()),
        ("keep_alive = false", timedelta()),
    ],
)
def test_the_setting(tmp_path: Path, line: str, keep_alive: timedelta | None) -> None:
    assert load_settings(project(tmp_path, line)).spark.keep_alive == keep_alive


@pytest.mark.parametrize("value", ["true", "10", '"soon"'])
def test_a_wrong_setting_is_reported(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_settings(project(tmp_path, f"keep_alive = {value}"))
    assert "keep_alive" in " ".join(raised.value.problems)


@pytest.mark.parametrize(
    ("line", "terminal", "no_worker", "minutes"),
    [
        ("", True, False, 10),
        ("", False, False, None),
        ('keep_alive = "3m"', False, False, 3),
        ('keep_alive = "3m"', True, True, 0),
        ('keep_alive = "off"', True, False, 0),
    ],
)
def test_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, terminal: bool, no_worker: bool, minutes: int | None
) -> None:
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    workspace = open_workspace(Invocation(project=project(tmp_path, line), no_worker=no_worker))
    expected = None if minutes is None else timedelta(minutes=minutes)
    assert workspace.settings.spark.keep_alive == expected


@pytest.mark.parametrize(
    ("line", "variable"),
    [
        ("", ""),
        ('keep_alive = "off"', ""),
        ('keep_alive = "1m"', "1"),
        ('keep_alive = "1m"\nmaster = "spark://a:1"', ""),
    ],
)
def test_no_worker_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, variable: str) -> None:
    monkeypatch.setenv("TIDEGATE_NO_WORKER", variable)
    settings = load_settings(project(tmp_path, line))
    assert leased_session(settings, lambda: pytest.fail("it is planned"), lambda: None) is None
