"""Reading `[[hooks]]`, `[callback]` and `[run.budget]` of tidegate.toml."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from tidegate.config.credential_keys import LOOPBACK, read_by_name, read_headers, read_secret
from tidegate.config.hook_settings import (
    ABOUT_MODELS,
    HOOK_EVENTS,
    ON_FAILURE,
    PRESETS,
    WITH_STATUS,
    BudgetSection,
    CommandHook,
    Endpoint,
    HookSettings,
    WebHook,
)
from tidegate.config.section_reader import Document, Section
from tidegate.config.toml_lines import row
from tidegate.names import nearest
from tidegate.redaction import Secret, looks_secret

__all__ = ["read_budget", "read_callback", "read_hooks"]

_STATUSES = (
    "success",
    "partial",
    "failed",
    "cancelled",
    "skipped",
    "completed",
    "blocked",
    "passed",
    "warned",
    "error",
)
_SIZE = re.compile(r"(?P<number>\d+)\s*(?P<unit>[kmgt]?)b?", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_KEYED = {"pagerduty": "https://events.pagerduty.com/v2/enqueue", "datadog": "https://api.datadoghq.com/api/v1/events"}
"""Presets of services that know the sender by a key, and where they listen."""


def read_hooks(document: Document, rows: Any, written: Any) -> tuple[HookSettings, ...]:
    """`written` are the same tables before `${VAR}` was filled in."""
    if not isinstance(rows, list) or not all(isinstance(table, dict) for table in rows):
        document.report(("hooks",), "hooks are written as [[hooks]], one title for each of them")
        return ()
    hooks: list[HookSettings] = []
    for number, table in enumerate(rows):
        section = Section(document, ("hooks", row(number)), table)
        hook = _hook(section, written[number], f"hook {number + 1}")
        if hook is not None and any(hook.name == other.name for other in hooks):
            section.report("name", f"two hooks are called '{hook.name}'; give each a name of its own")
        if hook is not None:
            hooks.append(hook)
    return tuple(hooks)


def _hook(section: Section, written: Mapping[str, Any], default_name: str) -> HookSettings | None:
    name = section.text("name", default_name)
    models = section.texts("models")
    statuses = _choices(section, "status", "status", _STATUSES)
    events = _events(section, bool(models), bool(statuses))
    common: dict[str, Any] = {
        "name": name,
        "events": events,
        "on_failure": section.choice("on_failure", ON_FAILURE, "warn"),
        "models": models,
        "statuses": frozenset(statuses),
    }
    if "command" in section.table and "url" in section.table:
        section.report("url", "a hook has a 'command' or a 'url', not both; write two hooks")
        return None
    if "command" in section.table:
        return _command_hook(section, written, common)
    if "url" in section.table or section.table.get("preset") in _KEYED:
        return _webhook(section, written, common)
    section.report("command", "a hook needs a 'command' to run, or a 'url' to post to")
    return None


def _command_hook(section: Section, written: Mapping[str, Any], common: Mapping[str, Any]) -> CommandHook:
    hook = CommandHook(
        **common,
        command=_command(section),
        env=read_by_name(section, "env", written, "an environment variable", re.compile(r"[A-Za-z_]\w*")),
        timeout=_timeout(section, timedelta(seconds=30)),
    )
    section.finish()
    return hook


def _webhook(section: Section, written: Mapping[str, Any], common: Mapping[str, Any]) -> WebHook:
    preset = section.choice("preset", PRESETS, "generic")
    body = section.text("body", None)
    if body is not None and (mistake := _mistake_in(body)):
        section.report("body", f"'body' in [hooks] is no template: {mistake}")
    key = read_secret(section, written, "key", required=preset in _KEYED)
    if key is not None and preset not in _KEYED:
        section.report("key", f"'key' in [hooks] is for the presets {' and '.join(_KEYED)}; others use 'headers'")
    background = section.boolean("async", False)
    if background and common["on_failure"] == "abort":
        section.report("async", "a hook that is 'async' cannot abort: the run does not wait for its response")
    endpoint = _endpoint(section, written, _KEYED.get(preset), carries_key=key is not None)
    section.finish()
    return WebHook(**common, endpoint=endpoint, preset=preset, body=body, key=key, background=background)


def _events(section: Section, by_model: bool, by_status: bool) -> frozenset[str]:
    if "events" not in section.table:
        section.report("events", "a hook needs 'events': a list of those it listens to, such as ['pipeline_error']")
        section.read_keys.add("events")
        return frozenset()
    value = section.table.get("events")
    if value in ("*", ["*"]):
        section.read_keys.add("events")
        fits = (name for name in HOOK_EVENTS if not by_model or name in ABOUT_MODELS)
        return frozenset(name for name in fits if not by_status or name in WITH_STATUS)
    events = _choices(section, "events", "event", HOOK_EVENTS)
    if not events and value == []:
        section.report("events", "'events' in [hooks] is empty, so the hook would never be called")
    for event in events:
        if by_model and event not in ABOUT_MODELS:
            section.report("models", f"'{event}' is about a whole run, which 'models' cannot choose; write two hooks")
        if by_status and event not in WITH_STATUS:
            section.report("status", f"'{event}' has no status to choose by; write two hooks")
    return frozenset(events)


def _choices(section: Section, key: str, what: str, choices: Collection[str]) -> tuple[str, ...]:
    """A list of names, or one of them alone."""
    value = section.raw(key)
    if value is None:
        return ()
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        section.wrong(key, "a list of names", value)
        return ()
    valid_names = []
    for name in names:
        if name in choices:
            valid_names.append(str(name))
            continue
        close = nearest(name, choices)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(choices)}"
        section.report(key, f"there is no {what} '{name}'; {hint}")
    return tuple(valid_names)


def _command(section: Section) -> tuple[str, ...] | str:
    value = section.raw("command")
    if isinstance(value, str):
        return section.text("command", "")
    if not value and isinstance(value, list):
        section.report("command", "'command' in [hooks] is empty: write a program and its arguments, or one text")
        return ()
    return section.texts("command")


def _endpoint(
    section: Section, written: Mapping[str, Any], default_url: str | None = None, carries_key: bool = False
) -> Endpoint:
    headers = read_headers(section, written)
    secret = read_secret(section, written, "secret")
    url = section.text("url", default_url)
    if url is not None:
        _check_url(section, url, carries_key or any(looks_secret(name) for name in headers))
    default = Endpoint(url=Secret(url or ""))
    return Endpoint(
        url=default.url,
        headers=headers,
        secret=secret,
        timeout=_timeout(section, default.timeout),
        retries=section.integer("retries", default.retries),
        retry_delay=section.duration("retry_delay", default.retry_delay),
    )


def _check_url(section: Section, url: str, sends_secrets: bool) -> None:
    try:
        parts = urlsplit(url)
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        wrong = True
    if wrong:
        section.report("url", "'url' must be an address such as https://example.com/hook")
    elif not all("!" <= letter <= "~" for letter in parts.path + parts.query):
        section.report("url", "'url' holds a space or a letter that an address cannot have; write it as in %20")
    elif parts.username or parts.password:
        section.report("url", "'url' must not hold a user or password; use 'headers' with a value such as ${VAR}")
    elif sends_secrets and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        section.report("url", "'url' must be https: the key or header would be readable on the way")


def _mistake_in(body: str) -> str | None:
    from tidegate.config.body_template import mistake_in  # Jinja takes time to load, and few projects have a body

    return mistake_in(body)


def _timeout(section: Section, default: timedelta) -> timedelta:
    value = section.duration("timeout", default)
    if not timedelta() < value <= timedelta(hours=1):
        section.report("timeout", "'timeout' must be more than 0s and at most 1h")
        return default
    return value


def read_callback(section: Section, written: Any) -> Endpoint | None:
    if written is None:
        return None
    if "url" not in section.table:
        section.report("url", "[callback] needs 'url': where the end of a run is posted to")
    endpoint = _endpoint(section, written)
    section.finish()
    return endpoint


def read_budget(run: Section) -> BudgetSection:
    """`run` is the section around it."""
    section = Section(run.document, (*run.path, "budget"), run.table_of("budget"))
    default = BudgetSection()
    nothing = timedelta(-1)
    duration = section.duration("max_duration", nothing)
    if not duration:
        section.report("max_duration", "'max_duration' in [run.budget] must be more than 0s; leave it out for no limit")
    budget = BudgetSection(
        max_duration=duration if duration > timedelta() else None,
        max_rows=section.integer("max_rows", None, least=1),
        max_bytes=_size(section, "max_bytes"),
        on_breach=section.choice("on_breach", ("warn", "fail"), default.on_breach),
    )
    section.finish()
    return budget


def _size(section: Section, key: str) -> int | None:
    value = section.raw(key)
    if isinstance(value, str):
        match = _SIZE.fullmatch(value.strip())
        number = int(match["number"]) * _UNITS[match["unit"].lower()] if match else 0
    else:
        number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    if value is not None and number < 1:
        section.wrong(key, "a number of bytes, or a size such as '500m' or '10g'", value)
    return number if number > 0 else None
