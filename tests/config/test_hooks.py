"""[[hooks]], [callback] and [run.budget]: what they mean, and every mistake in them with its line."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.config.test_settings import problems_of, settings_of
from tidegate.config import BudgetSection, CommandHook, Secret, WebHook
from tidegate.config.hook_settings import ABOUT_MODELS, HOOK_EVENTS, WITH_STATUS
from tidegate.config.toml_lines import line_of, row

CASES = Path(__file__).parents[1] / "cases" / "config"

EVERYTHING = """
[[hooks]]
events = "pipeline_error"
command = ["./notify.sh", "data"]
env = { TOKEN = "${TOKEN}", CHANNEL = "data" }
timeout = "5s"
on_failure = "abort"

[[hooks]]
name = "alerts"
events = ["check_failed", "model_error"]
url = "https://hooks.slack.com/services/${TOKEN}"
preset = "slack"
async = true
models = ["silver.*", "tag:daily"]
status = ["failed", "error"]
retries = 5
retry_delay = "2s"
secret = "${TOKEN}"

[hooks.headers]
Authorization = "Bearer ${TOKEN}"
X-Team = "data"

[[hooks]]
name = "pager"
events = ["pipeline_error", "pipeline_complete"]
preset = "pagerduty"
key = "${TOKEN}"

[callback]
url = "https://example.com/runs/{run_id}/callback"
retries = 1

[run.budget]
max_duration = "2h"
max_rows = 1000000
max_bytes = "10g"
on_breach = "fail"
"""


def test_everything_that_can_be_said_is_read(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, EVERYTHING, TOKEN="t0ken")
    program, alerts, pager = settings.hooks
    assert isinstance(program, CommandHook)
    assert (program.name, program.events, program.on_failure) == ("hook 1", {"pipeline_error"}, "abort")
    assert program.command == ("./notify.sh", "data")
    assert program.env == {"TOKEN": Secret("t0ken"), "CHANNEL": Secret("data")}
    assert program.timeout == timedelta(seconds=5)
    assert isinstance(alerts, WebHook)
    assert alerts.endpoint.url.reveal() == "https://hooks.slack.com/services/t0ken"
    assert alerts.endpoint.shown == "https://hooks.slack.com"
    assert (alerts.endpoint.retries, alerts.endpoint.retry_delay) == (5, timedelta(seconds=2))
    assert alerts.endpoint.headers["Authorization"].reveal() == "Bearer t0ken"
    assert (alerts.background, alerts.models, alerts.statuses) == (
        True,
        ("silver.*", "tag:daily"),
        {"failed", "error"},
    )
    assert isinstance(pager, WebHook)
    assert pager.endpoint.url.reveal() == "https://events.pagerduty.com/v2/enqueue"
    assert settings.callback is not None
    assert settings.callback.retries == 1
    assert settings.budget == BudgetSection(timedelta(hours=2), 1_000_000, 10 * 2**30, "fail")


def test_nothing_shows_a_secret(tmp_path: Path) -> None:
    assert "t0ken" not in repr(settings_of(tmp_path, EVERYTHING, TOKEN="t0ken"))


def test_without_them_nobody_is_told(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "")
    assert (settings.hooks, settings.callback, settings.budget.limited) == ((), None, False)


def test_a_star_means_all_events_that_the_choice_fits(tmp_path: Path) -> None:
    text = '[[hooks]]\nevents = "*"\ncommand = "true"\n'
    assert settings_of(tmp_path, text).hooks[0].events == set(HOOK_EVENTS)
    assert settings_of(tmp_path, text + 'models = ["a.b"]\n').hooks[0].events == set(HOOK_EVENTS) & ABOUT_MODELS
    assert settings_of(tmp_path, text + 'status = "failed"\n').hooks[0].events == set(HOOK_EVENTS) & WITH_STATUS


def test_all_mistakes_come_together_each_at_its_own_hook(tmp_path: Path) -> None:
    text, _, expected = (CASES / "hook_mistakes.txt").read_text().partition("--- expect\n")
    assert problems_of(tmp_path, text) == expected.splitlines()


def test_a_secret_over_plain_http_is_refused_but_on_this_machine(tmp_path: Path) -> None:
    text = '[[hooks]]\nevents = ["model_error"]\nurl = "http://{}/x"\nheaders = {{ Authorization = "${{T}}" }}\n'
    assert settings_of(tmp_path, text.format("127.0.0.1:9"), T="x").hooks
    (problem,) = problems_of(tmp_path, text.format("example.com"), T="x")
    assert problem == "tidegate.toml:3: 'url' must be https: the key or header would be readable on the way"


def test_hooks_that_are_no_list_of_tables_are_told(tmp_path: Path) -> None:
    wanted = ["tidegate.toml:1: hooks are written as [[hooks]], one title for each of them"]
    assert problems_of(tmp_path, '[hooks]\nevents = ["model_error"]\n') == wanted


@pytest.mark.parametrize("path", ["two words", "h\u00f6k", "x?q=\u2028"])
def test_an_address_that_http_cannot_carry_is_told(tmp_path: Path, path: str) -> None:
    (problem,) = problems_of(tmp_path, f'[callback]\nurl = "https://example.com/{path}"\n')
    assert problem.startswith("tidegate.toml:2: 'url' holds a space or a letter that an address cannot have")


def test_a_variable_that_is_not_set_is_told_at_its_own_hook(tmp_path: Path) -> None:
    text = '[[hooks]]\nevents = ["model_error"]\nurl = "https://a"\n[[hooks]]\nevents = "*"\nurl = "https://${HOST}"\n'
    (problem,) = problems_of(tmp_path, text)
    assert problem.startswith("tidegate.toml:6: environment variable HOST is not set")


def test_the_line_of_a_key_is_that_of_its_own_row() -> None:
    text = "[[a]]\nx = 1\n[a.b]\ny = 1\n[[a]]\nx = 2\n[a.b]\ny = 2\n[c]\nx = 3\n"
    assert [line_of(text, ("a", row(number), "x")) for number in (0, 1)] == [2, 6]
    assert [line_of(text, ("a", row(number), "b", "y")) for number in (0, 1)] == [4, 8]
    assert line_of(text, ("a", row(1), "z")) == 5
    assert line_of(text, ("a", "x")) == 2
    assert line_of(text, ("c", "x")) == 10
