"""Digests of what decides the result of compiling a query: its file, its settings, and the interfaces of its inputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from operator import attrgetter

from blake3 import blake3

from tidegate.checks.check_registry import OtherTable, other_tables
from tidegate.checks.check_values import Check
from tidegate.compiler.drafts import CompilationState, Draft, Outcome, refuses_rows
from tidegate.compiler.external_tables import zone_names
from tidegate.compiler.inlining import reads_bad_records
from tidegate.compiler.table_columns import visible_columns
from tidegate.datatypes import Relation
from tidegate.names import TableName
from tidegate.project import Materialized, ModelSettings

__all__ = ["Digests", "resolved_checks", "tables_named_by_checks"]

_SETTINGS = tuple(field.name for field in fields(ModelSettings) if field.name != "columns")
_values_of = attrgetter(*_SETTINGS)


class Digests:
    """Of one compilation. `own` and `interface` are of one draft; `whole` joins its own with those it reads."""

    def __init__(self, work: CompilationState) -> None:
        self._work = work
        self._settings: dict[int, bytes] = {}
        self._zones = frozenset(zone_names(work.settings))
        landing = work.settings.landing
        everywhere = (
            work.settings.project.namespace,
            [(macro.path, macro.source) for macro in work.project.macros],
            json.dumps(dict(work.vars), sort_keys=True, default=repr),
            str(landing.root),
            sorted((name, repr(zone)) for name, zone in landing.zones.items()),
            work.settings.lake.catalog,
            sorted(work.own_functions),
            work.settings.spark.allow_code,
            sorted((name, function.digest) for name, function in work.project.functions.items()),
            sorted(work.project.function_names),
            (work.settings.sandbox.mode, work.settings.sandbox.trusted, work.settings.sandbox.imports),
            work.is_lenient,
            sorted((name, source.kind) for name, source in work.settings.sources.items()),
        )
        self._everywhere = blake3(repr(everywhere).encode()).digest()

    def own(self, draft: Draft) -> bytes:
        model = draft.model
        parts = [draft.source, str(model.table), draft.file]
        if draft.test is None:
            # The places of settings count: warnings report them.
            places = [place for place in model.origins.values() if place.file != draft.file] if model.origins else ()
            unread = self._work.unread_settings and self._work.short(model.table) in self._work.unread_settings
            parts.append(f"{model.contract}\0{bool(unread)}\0{places or ''}")
            if model.checks:
                parts.append(repr(model.checks))
            if model.masks:
                parts.append(repr(model.masks))
            if model.stage is not None:
                parts.append(f"{model.stage.ingestion.digest}\0{model.stage.rule_places}\0{model.source_lines}")
        written = "\0".join(parts).encode(errors="surrogateescape")
        return blake3(self._of_settings(model.settings) + written).digest()

    def whole(self, draft: Draft, outcome: Draft | Outcome) -> bytes:
        """Of what the draft reads according to `outcome`; the names are resolved again."""
        parts = [draft.own]
        if outcome.environment:
            parts.append(repr(outcome.environment).encode())
        if draft.model.contract is not None:
            parts.append(self._work.external.version(draft.model.table).encode())
        parts += [self._input_state(draft, name) for name in outcome.inputs]
        # Nothing that is joined here holds a NUL but digests, which are all of one length.
        return blake3(b"\0".join(parts)).digest() if len(parts) > 1 else draft.own

    def interface(self, draft: Draft) -> bytes:
        settings = draft.model.settings
        columns = visible_columns(draft.model, draft.relation)
        draft.open = not columns.complete
        appended = settings.traits.keeps_arrival_order  # readers may take the latest row of a key
        quarantine = f"{refuses_rows(draft)} {reads_bad_records(self._work, draft)}"
        parts = [str(draft.failed), settings.materialized.value, str(appended), quarantine, _text(columns)]
        digest = blake3("\0".join(parts).encode())
        if settings.materialized is not Materialized.TABLE:
            # Its query becomes part of its readers'.
            digest.update(draft.whole)
        return digest.digest()

    def _input_state(self, draft: Draft, parts: tuple[str, ...]) -> bytes:
        if not parts[0]:
            return b"zone" if parts[1] in self._zones else b"no zone"
        table = self._work.tables.find(parts)
        if table is None:
            return b"unknown"
        upstream = self._work.models.get(table)
        if upstream is None and table in self._work.quarantines:
            beside = self._work.models[self._work.quarantines[table]]
            return f"quarantine\0{self._work.external.version(table)}\0".encode() + beside.interface
        if upstream is None:
            return self._work.external.version(table).encode()
        if upstream is draft:
            return b"itself"
        # The published table fills in the columns that its query leaves open.
        published = self._work.external.version(table) if upstream.open else ""
        return f"{table}\0{published}\0".encode() + upstream.interface

    def _of_settings(self, settings: ModelSettings) -> bytes:
        """With what counts for all models. Many models share one settings value, which lives as long as they do."""
        digest = self._settings.get(id(settings))
        if digest is None:
            key = (_values_of(settings), tuple(settings.columns.items()))
            digest = self._settings[id(settings)] = blake3(self._everywhere + repr(key).encode()).digest()
        return digest


def _text(relation: Relation) -> str:
    columns = "\0".join(f"{column.name}\1{column.type.text}\1{column.nullable}" for column in relation.columns)
    return f"{relation.complete}\0{columns}"


def tables_named_by_checks(
    work: CompilationState, draft: Draft
) -> Iterator[tuple[Check, OtherTable, TableName | None]]:
    """Each table that an argument of a check names, resolved; None where no table has that name."""
    for check in draft.model.checks if draft.test is None else ():
        for other in other_tables(check):
            yield check, other, work.tables.find(other.name.split("."))


def resolved_checks(work: CompilationState, draft: Draft) -> tuple[Check, ...]:
    settled = {(check.stage, check.name): check for check in draft.model.checks}
    for check, other, table in tables_named_by_checks(work, draft):
        current = settled[check.stage, check.name]
        if current.call is not None and table is not None:
            arguments = list(current.call.arguments)
            arguments[other.position] = str(table)
            settled[check.stage, check.name] = replace(current, call=replace(current.call, arguments=tuple(arguments)))
    return tuple(settled.values())
