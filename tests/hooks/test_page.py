"""docs/hooks.md tells of every event and every setting."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from tidegate.config.hook_settings import HOOK_EVENTS, PRESETS, BudgetSection, CommandHook, Endpoint, WebHook
from tidegate.hooks.run_hooks import STOPPABLE_EVENTS

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text(encoding="utf-8")
WRITTEN_AS = {"background": "async", "statuses": "status", "endpoint": "url"}
KEYS = {
    WRITTEN_AS.get(field.name, field.name)
    for values in (CommandHook, WebHook, Endpoint, BudgetSection)
    for field in dataclasses.fields(values)
}


@pytest.mark.parametrize("key", sorted(KEYS))
def test_setting_is_on_the_page(key: str) -> None:
    assert re.search(rf"^\| `{key}` \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("event", HOOK_EVENTS)
def test_event_is_on_the_page(event: str) -> None:
    assert re.search(rf"^\| `{event}` \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("preset", PRESETS)
def test_preset_is_on_the_page(preset: str) -> None:
    assert f"`{preset}`" in PAGE or f'`"{preset}"`' in PAGE


def test_the_page_says_which_events_stop_a_run_before_it_begins() -> None:
    told = re.findall(r"^\| `(\w+)` \|.*\| stops the run before it begins \|$", PAGE, re.MULTILINE)
    assert set(told) == {event for event in STOPPABLE_EVENTS if not event.startswith("before_")}
