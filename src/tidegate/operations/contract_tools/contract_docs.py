"""A page about a contract, for those who read its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tidegate.contracts.element import Element
from tidegate.contracts.ingestion import default_strategy
from tidegate.contracts.open_data_contract import OpenDataContractStandard
from tidegate.contracts.stage_contract import StageContract
from tidegate.contracts.yaml_document import read_yaml
from tidegate.errors import OptionsError, SelectionError
from tidegate.jsontext import json_text
from tidegate.operations.contract_tools.page_text import Block, Heading, PageTable, Paragraph, html_page, markdown_page

__all__ = ["contract_page"]

_FACTS = (
    ("id", "id"),
    ("version", "version"),
    ("status", "status"),
    ("domain", "domain"),
    ("data product", "dataProduct"),
    ("tenant", "tenant"),
    ("tags", "tags"),
    ("standard", "apiVersion"),
)
_SOURCE_FACTS = (
    ("connector", "connector"),
    ("source system", "source_system"),
    ("connection", "source"),
    ("endpoint", "endpoint"),
    ("records in", "content_path"),
    ("read", "ingestion_read_strategy"),
    ("new is what is greater in", "ingestion_filtering_column"),
    ("queries", "sql_extraction_mode"),
    ("rows of a batch", "batch_size"),
    ("landing zone", "landing_directory"),
    ("files", "landing_file_format"),
)
_DELETION_FACTS = (
    ("found by", "deletion_detection"),
    ("deleted rows are", "deletion_mode"),
    ("column", "deletion_indicator_column"),
    ("values that mean deleted", "deletion_indicator_values"),
    ("largest share of one run", "deletion_max_ratio"),
)
_OPTIONS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "matches {}",
    "format": "format {}",
    "multipleOf": "a multiple of {}",
}


def contract_page(file: Path, as_html: bool = False) -> str:
    """Raises `ContractValidationError` where the file does not follow the standard."""
    try:
        OpenDataContractStandard.from_file(str(file))
        text = file.read_text("utf-8")
    except FileNotFoundError as error:
        raise SelectionError(f"there is no file '{file}'", remedy="Name the file of a contract.") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
        raise OptionsError(f"'{file}' cannot be read: {reason}", where=str(file)) from error
    document, _ = read_yaml(text.replace("\r\n", "\n"), str(file))
    assert document is not None
    contract = StageContract(document.value)
    title = contract.root.text("name") or contract.root.text("id") or file.name
    blocks = list(_page(contract, title))
    return html_page(title, blocks) if as_html else markdown_page(blocks)


def _page(contract: StageContract, title: str) -> Iterator[Block]:
    root, silver = contract.root, contract.silver if contract.source is not None else None
    yield Heading(title, 1)
    yield from _description(root)
    yield from _facts((label, root.value.get(key)) for label, key in _FACTS)
    yield from _people(root)
    if contract.source is not None:
        yield from _source(contract, contract.source)
    if silver is not None:
        yield Heading(f"Table silver.{contract.table_name(silver, 'silver_table')}")
        yield from _silver(contract, silver)
    for table in contract.others:
        if table is not silver:
            yield Heading(f"Table {table.text('physicalName') or table.text('name') or ''}")
            yield from _described(contract, table)
    yield from _service_levels(root)


def _description(root: Element) -> Iterator[Block]:
    """The standard has an object here; a plain text is often written."""
    if text := root.text("description"):
        yield Paragraph(text)
    for key in ("purpose", "usage", "limitations"):
        if text := root.part("description").text(key):
            yield Paragraph(text if key == "purpose" else f"{key.capitalize()}: {text}")


def _facts(facts: Iterable[tuple[str, Any]]) -> Iterator[Block]:
    rows = tuple((label, text) for label, value in facts if (text := _text(value)))
    if rows:
        yield PageTable(("", ""), rows)


def _people(root: Element) -> Iterator[Block]:
    team = root.part("team")
    members = list(team.items("members")) or list(root.items("team"))
    support, roles = list(root.items("support")), list(root.items("roles"))
    if team.value or members or support:
        yield Heading(f"Owner: {team.text('name')}" if team.text("name") else "Owner")
    if text := team.text("description"):
        yield Paragraph(text)
    yield from _list(members, ("username", "name", "role", "description", "dateIn", "dateOut"))
    yield from _list(support, ("channel", "tool", "scope", "url", "description"))
    if roles:
        yield Heading("Roles")
        yield from _list(roles, ("role", "access", "firstLevelApprovers", "secondLevelApprovers", "description"))


def _list(items: list[Element], keys: tuple[str, ...]) -> Iterator[Block]:
    """With those of the keys that some item has."""
    shown = [key for key in keys if any(_text(item.value.get(key)) for item in items)]
    if shown:
        rows = tuple(tuple(_text(item.value.get(key)) for key in shown) for item in items)
        yield PageTable(tuple(_words(key) for key in shown), rows)


def _words(key: str) -> str:
    return "".join(f" {char.lower()}" if char.isupper() else char for char in key)


def _source(contract: StageContract, source: Element) -> Iterator[Block]:
    yield Heading(f"Source {source.text('physicalName') or source.text('name') or ''}")
    if text := source.text("description"):
        yield Paragraph(text)

    def value(name: str) -> Any:
        entry = contract.lookup(name, source)
        given = None if entry is None else entry.value
        return _without_secrets(given) if name == "endpoint" and isinstance(given, str) else given

    facts = [(label, value(name)) for label, name in _SOURCE_FACTS]
    yield from _facts([*facts, ("raw rows in", f"bronze.{contract.table_name(source, 'bronze_table')}")])
    yield from _columns(list(source.items("properties")), with_origin=False)


def _without_secrets(endpoint: str) -> str:
    """A URL may hold a password or a key."""
    try:
        parts = urlsplit(endpoint)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "***"
    return urlunsplit((parts.scheme, host, parts.path, "***" if parts.query else "", ""))


def _silver(contract: StageContract, silver: Element) -> Iterator[Block]:
    columns = list(silver.items("properties"))
    keys = sorted((c for c in columns if c.flag("primaryKey")), key=lambda c: c.number("primaryKeyPosition") or 0)
    strategy = contract.text("silver_write_strategy", silver) or default_strategy(bool(keys))
    yield from _described(
        contract, silver, [("key", [c.column_name for c in keys]), ("holds", strategy.replace("_", " "))]
    )
    yield from _deletions(contract, silver)


def _described(contract: StageContract, table: Element, facts: Iterable[tuple[str, Any]] = ()) -> Iterator[Block]:
    if text := table.text("description"):
        yield Paragraph(text)
    granularity = table.text("dataGranularityDescription")
    generator = contract.lookup("generator_notebook", table) if contract.source is None else None
    made_by = ("made by", None if generator is None else generator.value)
    yield from _facts([("one row is", granularity), *facts, made_by])
    columns = list(table.items("properties"))
    yield from _columns(columns, with_origin=contract.source is not None)
    yield from _quality(table, columns)


def _columns(columns: list[Element], with_origin: bool) -> Iterator[Block]:
    shown: list[tuple[str, Callable[[Element], str]]] = [
        ("column", lambda c: c.column_name),
        ("type", lambda c: c.text("physicalType") or c.text("logicalType") or ""),
        ("key", _key_text),
        ("rules", _rules),
        ("from", _origin if with_origin else lambda c: ""),
        ("transform", lambda c: c.text("transformLogic") or ""),
        ("classification", lambda c: c.text("classification") or ""),
        ("meaning", lambda c: c.text("description") or c.text("businessName") or ""),
    ]
    rows = [tuple(cell(column) for _, cell in shown) for column in columns]
    kept = [place for place in range(len(shown)) if place < 2 or any(row[place] for row in rows)]
    if rows:
        yield PageTable(tuple(shown[i][0] for i in kept), tuple(tuple(row[i] for i in kept) for row in rows))


def _key_text(column: Element) -> str:
    if not column.flag("primaryKey"):
        return ""
    position = column.number("primaryKeyPosition") or -1
    return f"key {position}" if position > 0 else "key"


def _rules(column: Element) -> str:
    rules = [word for word, key in (("required", "required"), ("unique", "unique")) if column.flag(key)]
    for key, value in column.part("logicalTypeOptions").value.items():
        rules.append(_OPTIONS.get(key, f"{_words(key)}: {{}}").replace("{}", _text(value)))
    values = column.value.get("enum")
    if isinstance(values, list) and values:
        rules.append(f"one of {_text([item.get('value') if isinstance(item, dict) else item for item in values])}")
    return "; ".join(rules)


def _origin(column: Element) -> str:
    return _text(column.texts("transformSourceObjects"))


def _quality(table: Element, columns: list[Element]) -> Iterator[Block]:
    rules = [("", rule) for rule in table.items("quality")]
    rules += [(column.column_name, rule) for column in columns for rule in column.items("quality")]
    if not rules:
        return
    yield Heading("Quality", 3)
    headers = ("rule", "column", "type", "what is checked", "expected", "meaning")
    yield PageTable(headers, tuple(_quality_row(column, rule) for column, rule in rules))


def _quality_row(column: str, rule: Element) -> tuple[str, ...]:
    expected = [f"{_words(key)} {_text(value)}" for key, value in rule.value.items() if key.startswith("must")]
    checked = (rule.text(key) for key in ("query", "metric", "rule", "implementation"))
    name = rule.text("name") or rule.text("id") or ""
    kind = rule.text("type") or "library"
    return name, column, kind, next(filter(None, checked), ""), "; ".join(expected), rule.text("description") or ""


def _deletions(contract: StageContract, silver: Element) -> Iterator[Block]:
    if not contract.is_set("deletion_enabled", True, silver):
        return
    yield Heading("Deletions", 3)
    entries = ((label, contract.lookup(name, silver)) for label, name in _DELETION_FACTS)
    yield from _facts((label, entry.value) for label, entry in entries if entry is not None)


def _service_levels(root: Element) -> Iterator[Block]:
    levels = list(root.items("slaProperties"))
    if levels:
        yield Heading("Service levels")
        yield from _list(levels, ("property", "value", "unit", "element", "driver", "schedule", "description"))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return json_text(value)
    return "" if value is None else str(value)
