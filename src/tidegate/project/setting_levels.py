"""Entries of several levels (built-in, [defaults], folders, sidecar, directives) → one model's settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.checks.check_kinds import CheckKind
from tidegate.checks.check_values import Check
from tidegate.names import nearest
from tidegate.problems import Place, Problem, did_you_mean
from tidegate.project.declared_checks import CHECK_KEYS, declared_checks
from tidegate.project.model import Materialized, ModelSettings, Severity
from tidegate.project.setting_keys import KEYS, ColumnNote, KindValue, SettingKey
from tidegate.project.settings_files import SettingEntry, SourceNode
from tidegate.project.strategies import DEFAULT_STRATEGY

__all__ = ["SettingsLevel", "conflicts", "merge_levels", "read_level"]


@dataclass(frozen=True, slots=True)
class SettingsLevel:
    """The parsed settings of one place."""

    values: Mapping[str, tuple[Any, Place]]
    """Field of ModelSettings → value and where it is written."""

    problems: tuple[Problem, ...] = ()
    checks: tuple[Check, ...] = ()
    tagged: Mapping[str, Place] = field(default_factory=dict)
    """Columns with tags, in lower case, and where they are."""


def read_level(entries: Iterable[SettingEntry], own_checks: Mapping[str, CheckKind] | None = None) -> SettingsLevel:
    """Read each entry once, so that a mistake in a shared file is reported once."""
    values: dict[str, tuple[Any, Place]] = {}
    problems: list[Problem] = []
    checks: list[Check] = []
    tagged: dict[str, Place] = {}
    for entry in entries:
        if entry.key in CHECK_KEYS:
            node = entry.node or _node(entry.value, entry.place)
            declarations = declared_checks(entry.key, node, own_checks or {}, entry.in_header)
            checks += declarations.checks
            problems += declarations.problems
            continue
        key = KEYS.get("column" if entry.key == "columns" else entry.key)
        if key is None:
            problems.append(_unknown(entry))
            continue
        try:
            value = key.read(entry.value)
        except ValueError as error:
            message = f"{entry.key}: {error}" if str(error)[:1] in "'`" else f"{entry.key} {error}"
            problems.append(Problem("InvalidSetting", message, entry.place))
            continue
        if key.field == "columns":
            tagged |= _places_of_tags(entry, value)
        if key.field is None:
            problems += _answer_unused(entry, key, value)
        elif key.field in values and not key.repeatable:
            message = f"'{entry.key}' is set twice; the first is in line {values[key.field][1].line}"
            problems.append(Problem("RepeatedSetting", message, entry.place))
        elif key.repeatable and key.field in values:
            values[key.field] = (_together(values[key.field][0], value), values[key.field][1])
        else:
            values[key.field] = (value, entry.place)
    return SettingsLevel(_settle_kind(_split_notes(values), problems), tuple(problems), tuple(checks), tagged)


def _node(value: Any, place: Place) -> SourceNode:
    """Every part gets the place of the key."""
    if isinstance(value, dict):
        return SourceNode({key: _node(inner, place) for key, inner in value.items()}, place)
    if isinstance(value, list):
        return SourceNode([_node(inner, place) for inner in value], place)
    return SourceNode(value, place, str(value))


def merge_levels(levels: Sequence[SettingsLevel]) -> tuple[ModelSettings, Mapping[str, Place]]:
    """The last level that has a setting wins; also where each setting is written."""
    merged: dict[str, tuple[Any, Place]] = {}
    for level in levels:
        columns, tags = merged.get("columns"), merged.get("column_tags")
        if "materialized" in level.values and level.values["materialized"][0] is not Materialized.TABLE:
            merged.pop("strategy", None)
        merged.update(level.values)
        if columns and "columns" in level.values:
            merged["columns"] = ({**columns[0], **level.values["columns"][0]}, level.values["columns"][1])
        if tags and "column_tags" in level.values:
            added, place = level.values["column_tags"]
            merged["column_tags"] = (_all_tags(tags[0], added), place)
    settings = ModelSettings(**{name: value for name, (value, _) in merged.items()})
    return settings, {name: place for name, (_, place) in merged.items()}


def conflicts(sidecar: Sequence[SettingsLevel], header: SettingsLevel) -> Iterator[Problem]:
    """Directives that differ from the settings file beside them: they win, but probably by mistake."""
    for level in sidecar:
        reported: set[Place] = set()
        for name, (value, place) in header.values.items():
            other, elsewhere = level.values.get(name, (value, place))
            # `kind` sets both the strategy and whether there is a table: one conflict, not two.
            if other == value or name in ("columns", "column_tags") or place in reported:
                continue
            reported.add(place)
            message = f"{_NAMES.get(name, name)} is {_quoted(value)} here and {_quoted(other)} in {elsewhere.file}"
            fix = "set it in one place; the directive wins"
            yield Problem("ConflictingSettings", message, place, severity=Severity.WARN, suggestion=fix)


def _places_of_tags(entry: SettingEntry, notes: Mapping[str, ColumnNote]) -> dict[str, Place]:
    nodes = entry.node.value if entry.node and isinstance(entry.node.value, dict) else {}
    return {
        name.lower(): nodes[name].place if name in nodes else entry.place for name, note in notes.items() if note.tags
    }


def _together(notes: Mapping[str, ColumnNote], more: Mapping[str, ColumnNote]) -> dict[str, ColumnNote]:
    joined = dict(notes)
    for name, note in more.items():
        tags = (*joined[name].tags, *note.tags) if name in joined else note.tags
        described = note if note.described else joined.get(name, note)
        joined[name] = replace(described, tags=tuple(dict.fromkeys(tags)))
    return joined


def _split_notes(values: dict[str, tuple[Any, Place]]) -> dict[str, tuple[Any, Place]]:
    """Split the notes on columns into descriptions and tags."""
    if "columns" not in values:
        return values
    notes, place = values.pop("columns")
    if described := {name: note.description for name, note in notes.items() if note.described}:
        values["columns"] = (described, place)
    if tags := {name: note.tags for name, note in notes.items() if note.tags}:
        values["column_tags"] = (tags, place)
    return values


def _all_tags(one: Mapping[str, tuple[str, ...]], other: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """A tag is never removed: a column that a folder tags as personal stays personal."""
    names = {name.lower(): name for name in one}
    together = dict(one)
    for name, tags in other.items():
        spelling = names.setdefault(name.lower(), name)
        together[spelling] = tuple(dict.fromkeys((*together.get(spelling, ()), *tags)))
    return together


_NAMES = {"strategy": "merge_strategy"}


def _quoted(value: Any) -> str:
    return f"'{', '.join(map(str, value)) if isinstance(value, tuple) else value}'"


def _settle_kind(values: dict[str, tuple[Any, Place]], problems: list[Problem]) -> dict[str, tuple[Any, Place]]:
    """`kind` may say that the model is a view; a strategy and a view in the same place contradict each other."""
    kind, place = values.pop("strategy", (None, None))
    if not isinstance(kind, KindValue) or place is None:
        return values
    materialized = values.get("materialized", (kind.materialized, place))[0]
    if kind.materialized is Materialized.TABLE and materialized is Materialized.TABLE:
        return values | {"strategy": (kind.strategy, place), "materialized": (Materialized.TABLE, place)}
    if kind.strategy is not DEFAULT_STRATEGY or materialized is Materialized.TABLE:
        message = f"{_article(materialized)} has no table to write, so it cannot have strategy {kind.strategy}"
        if materialized is Materialized.TABLE:
            message = "kind 'view' and materialized 'table' contradict each other"
        suggestion = "remove the strategy, or materialized"
        problems.append(Problem("ViewWithStrategy", message, place, suggestion=suggestion))
    return values | {"materialized": (materialized, place)}


def _article(materialized: Materialized) -> str:
    return "an ephemeral model" if materialized is Materialized.EPHEMERAL else "a view"


def _answer_unused(entry: SettingEntry, key: SettingKey, value: Any) -> list[Problem]:
    if key.unless is not None and value == key.unless:
        return []
    message = f"{entry.key} '{value}' is not supported by this version"
    return [Problem("UnsupportedSetting", message, entry.place, suggestion="remove it")]


def _unknown(entry: SettingEntry) -> Problem:
    if entry.key == "tests":
        message = "[[tests]] are a model's own, and this file is not one model's"
        return Problem("UnsupportedSetting", message, entry.place, suggestion="write them beside the model")
    suggestion = did_you_mean(nearest(entry.key, KEYS)) or f"known are {', '.join(sorted(KEYS))}"
    return Problem("UnknownSetting", f"unknown setting '{entry.key}'", entry.place, suggestion=suggestion)
