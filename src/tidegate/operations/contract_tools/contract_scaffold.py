"""A contract to begin with, written from a file, a table of the lake, or a table of a source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tidegate.amounts import plural
from tidegate.config import Settings
from tidegate.contracts.connectors import CONNECTORS, Connector
from tidegate.contracts.model_contract import physical_rule
from tidegate.datatypes import STRING, Column, DataType
from tidegate.errors import OptionsError, SelectionError
from tidegate.names import nearest
from tidegate.operations.contract_tools.scaffold_origins import ScaffoldOrigin, origin_of_file, origin_of_table

__all__ = ["Scaffold", "scaffold_contract", "scaffold_from"]

_LOGICAL = {
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
    "decimal": "number",
    "double": "number",
    "float": "number",
    "array": "array",
    "struct": "object",
    "string": "string",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
}


@dataclass(frozen=True, slots=True)
class Scaffold:
    name: str
    text: str
    """Of the file."""

    columns: int
    """Of silver."""

    key: tuple[str, ...]
    left_out: tuple[str, ...]
    """Source columns that lineage cannot name."""

    notes: tuple[str, ...]
    """What a person should look at."""

    def document(self) -> dict[str, Any]:
        return {"name": self.name, "columns": self.columns, "key": list(self.key), "notes": list(self.notes)}


@dataclass(frozen=True, slots=True)
class _SilverColumn:
    name: str
    path: tuple[str, ...]
    """In the source."""

    type: DataType
    required: bool


def scaffold_from(
    origin: str,
    settings: Settings | None,
    connector: str | None = None,
    keys: Sequence[str] = (),
    name: str | None = None,
) -> Scaffold:
    """`origin`: a file, or the name of a table; `settings` None: there is no project, so it can only be a file."""
    path = Path(origin)
    if path.is_file():
        return scaffold_contract(origin_of_file(path, settings), connector, keys, name)
    if settings is None or path.suffix in (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".gz"):
        remedy = "Name a file, or a table from within a project."
        raise SelectionError(f"there is no file '{origin}'", remedy=remedy)
    return scaffold_contract(origin_of_table(settings, origin), connector, keys, name)


def scaffold_contract(
    origin: ScaffoldOrigin, connector: str | None = None, keys: Sequence[str] = (), name: str | None = None
) -> Scaffold:
    """`keys`: columns of the primary key, by their names in the source or in silver; without them one that looks like
    a key is taken."""
    table = _snake(name or origin.name) or "table_1"
    kind = _connector(connector or origin.connector)
    columns: list[_SilverColumn] = []
    left_out: list[str] = []
    source = _first_of_each_name(origin.columns, left_out)
    for column in source:
        _flatten(column.type, (column.name,), column.nullable is False, columns, left_out)
    silver = _named(columns)
    if not silver:
        raise OptionsError(f"'{origin.title}' has no columns that a contract can name", where=origin.title)
    key = _chosen_key(silver, keys) if keys else _likely_key(silver, table, origin)
    notes = list(_notes(origin, kind, key, bool(keys), left_out))
    text = _header(origin, notes) + _dump(_document(origin, kind, table, source, silver, key))
    return Scaffold(table, text, len(silver), tuple(column.name for column in key), tuple(left_out), tuple(notes))


def _connector(name: str) -> Connector:
    if name not in CONNECTORS:
        near = nearest(name, CONNECTORS, 1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise SelectionError(f"there is no connector '{name}'", remedy=f"{meant}Known are {', '.join(CONNECTORS)}.")
    return CONNECTORS[name]


def _first_of_each_name(columns: Iterable[Column], left_out: list[str]) -> list[Column]:
    """Case does not count in lineage, so it cannot distinguish two columns of one name."""
    distinct: dict[str, Column] = {}
    for column in columns:
        if distinct.setdefault(column.name.casefold(), column) is not column:
            left_out.append(column.name)
    return list(distinct.values())


def _flatten(
    kind: DataType, path: tuple[str, ...], required: bool, columns: list[_SilverColumn], left_out: list[str]
) -> None:
    """A column for each value inside an object. Lineage separates steps by dots, so it cannot name what holds one."""
    if not _is_nameable(path[-1]):
        left_out.append(".".join(path) or "''")
    elif kind.kind == "struct" and kind.args and len(path) < 8:
        for field in _first_of_each_name((Column(*field) for field in kind.args), left_out):
            _flatten(field.type, (*path, field.name), False, columns, left_out)
    else:
        columns.append(_SilverColumn("_".join(path), path, _silver_type(kind), required))


def _is_nameable(name: str) -> bool:
    return bool(name.strip()) and "." not in name and name == name.strip() and name.isprintable()


def _silver_type(kind: DataType) -> DataType:
    """Nested values of files are text of JSON; a type that contracts cannot name is text."""
    return kind if kind.known and kind.kind != "void" and physical_rule(kind.text) is not None else STRING


def _named(columns: Iterable[_SilverColumn]) -> list[_SilverColumn]:
    """With names in snake case; of two that would be the same the second gets a number."""
    named: dict[str, _SilverColumn] = {}
    for place, column in enumerate(columns, 1):
        base = _snake(column.name) or f"column_{place}"
        name, number = base, 2
        while name in named:
            name, number = f"{base}_{number}", number + 1
        named[name] = _SilverColumn(name, column.path, column.type, column.required)
    return list(named.values())


def _snake(name: str) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name))
    snake = re.sub(r"\W+", "_", words).strip("_").lower()
    return f"c_{snake}" if snake[:1].isdigit() else snake


def _chosen_key(columns: Sequence[_SilverColumn], names: Sequence[str]) -> list[_SilverColumn]:
    key = []
    for name in names:
        matching = [c for c in columns if name.lower() in (c.name.lower(), ".".join(c.path).lower())]
        if not matching:
            near = nearest(name, [column.name for column in columns], 1)
            remedy = f"Did you mean '{near[0]}'?" if near else None
            raise SelectionError(f"there is no column '{name}' for the key", remedy=remedy)
        if matching[0] not in key:
            key.append(matching[0])
    return key


def _likely_key(columns: Sequence[_SilverColumn], table: str, origin: ScaffoldOrigin) -> list[_SilverColumn]:
    """`id`, or the name of the table with `_id`; where records were looked at, only if its values differ."""
    likely = ["id", f"{table}_id", f"{table.removesuffix('s')}_id", f"{table.removesuffix('es')}_id"]
    likely += [f"{table}_key", f"{table.removesuffix('s')}_key"]
    by_name = {column.name: column for column in columns if len(column.path) == 1}
    for name in likely:
        column = by_name.get(name)
        if column is not None and (origin.distinct is None or column.path[0] in origin.distinct):
            return [column]
    return []


def _notes(
    origin: ScaffoldOrigin, kind: Connector, key: Sequence[_SilverColumn], chosen: bool, left_out: Sequence[str]
) -> Iterator[str]:
    if origin.records is not None:
        yield f"Types are those of a sample of {plural(origin.records, 'record')}: widen what the sample did not show."
    if not key:
        yield "No column looks like a key: set primaryKey: true on those that identify a row, else rows are only added."
    elif not chosen:
        yield f"The key is a guess by its name: {key[0].name}."
    if left_out:
        yield f"Left out, for lineage cannot name them: {', '.join(left_out)}."
    if kind.reads_sql:
        yield "Every read is complete. To read only what is new, set ingestion_read_strategy to incremental and"
        yield "ingestion_filtering_column to a column that grows with every change."
    if "endpoint" in kind.needs and not origin.endpoint:
        yield "Correct the endpoint."


def _header(origin: ScaffoldOrigin, notes: Sequence[str]) -> str:
    lines = [f"A first contract from {origin.title}, to be read through and completed.", *notes]
    return "".join(f"# {_printable(line)}\n" for line in lines)


def _printable(text: str) -> str:
    """On one line, of characters that YAML takes."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _document(
    origin: ScaffoldOrigin,
    kind: Connector,
    table: str,
    source_columns: Sequence[Column],
    columns: Sequence[_SilverColumn],
    key: Sequence[_SilverColumn],
) -> dict[str, Any]:
    source = f"{table}_source"
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": table,
        "name": table,
        "version": "1.0.0",
        "status": "draft",
        "description": {"purpose": f"What {table} is for, and who reads it."},
        "schema": [
            {
                "name": source,
                **({"physicalName": origin.physical_name} if origin.physical_name else {}),
                "description": "As the source delivers it.",
                "properties": [_source_property(c.name, c.type) for c in source_columns if _is_nameable(c.name)],
                "customProperties": [
                    {"property": name, "value": value} for name, value in _settings(origin, kind, table).items()
                ],
            },
            {
                "name": table,
                "description": "One row for each key, typed and checked." if key else "Every row, typed and checked.",
                "properties": [_silver_property(source, column, key) for column in columns],
            },
        ],
    }


def _settings(origin: ScaffoldOrigin, kind: Connector, table: str) -> dict[str, Any]:
    """The custom properties of the source object."""
    pulled = kind.reads_sql or kind.reads_log
    settings: dict[str, Any] = {
        "connector": kind.name,
        "source_system": origin.source or table,
        "landing_directory": origin.zone or table,
        "landing_file_format": kind.first_format if pulled or not origin.format else origin.format,
        "ingestion_read_strategy": kind.first_read,
        "bronze_table": table,
    }
    if "endpoint" in kind.needs:
        settings["endpoint"] = origin.endpoint or kind.first_endpoint.replace("{table}", table)
    if "content_path" in kind.needs or origin.content_path:
        settings["content_path"] = origin.content_path
    if "json_multiline" in kind.needs or origin.document:
        settings["json_multiline"] = origin.document or not origin.format
    if "sql_extraction_mode" in kind.needs:
        settings["sql_extraction_mode"] = "single_query"
    return settings


def _source_property(name: str, kind: DataType) -> dict[str, Any]:
    fields = kind.args if kind.kind == "struct" else ()
    inside = [_source_property(inner, part) for inner, part in fields if _is_nameable(inner)]
    if inside:
        return {"name": name, "logicalType": "object", "properties": inside}
    return {"name": name, "logicalType": "string" if fields else _LOGICAL.get(kind.kind, "string")}


def _silver_property(source: str, column: _SilverColumn, key: Sequence[_SilverColumn]) -> dict[str, Any]:
    logical = _LOGICAL.get(column.type.kind)
    position = key.index(column) + 1 if column in key else 0
    return {
        "name": column.name,
        **({"logicalType": logical} if logical else {}),
        "physicalType": column.type.text,
        **({"primaryKey": True, "primaryKeyPosition": position} if position else {}),
        **({"required": True} if position or column.required else {}),
        "transformSourceObjects": [".".join((source, *column.path))],
    }


def _dump(document: dict[str, Any]) -> str:
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)
