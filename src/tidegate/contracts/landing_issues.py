"""What source to landing, landing to bronze, and silver to gold need of a contract."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from tidegate.config.file_formats import FILE_FORMATS
from tidegate.contracts.connectors import CONNECTORS, READ_STRATEGIES
from tidegate.contracts.element import Element
from tidegate.contracts.issues import Issue
from tidegate.contracts.odcs import model_issues
from tidegate.contracts.property_names import source_name_issues
from tidegate.contracts.stage_contract import GENERATOR, StageContract
from tidegate.names import is_plain_name, is_zone_name, nearest
from tidegate.passwords import passwords_in
from tidegate.problems import did_you_mean
from tidegate.redaction import register

__all__ = ["bronze_issues", "gold_issues", "landing_issues", "missing_generator"]

_EXTRACTION_MODES = ("single_query", "batched")


def landing_issues(contract: StageContract) -> Iterator[Issue]:
    yield from _one_source(contract)
    yield from source_name_issues(contract)
    yield from _connector(contract)
    yield from contract.expect_text("source_system", "shop")
    yield from _landing_files(contract)
    yield from contract.expect_choice("ingestion_read_strategy", READ_STRATEGIES)
    connector = contract.connector
    if connector is None:
        return
    if connector.reads_log and contract.is_set("ingestion_read_strategy", "full_snapshot"):
        entry = contract.lookup("ingestion_read_strategy")
        assert entry is not None
        message = f"{connector.name} reads changes, so 'ingestion_read_strategy' must be incremental"
        yield Issue(entry.path, message)
    if connector.reads_log:
        yield from contract.expect("cdc_held_back_seconds", _is_duration, "a number of seconds", "1", required=False)
    yield from _endpoint(contract)
    yield from _needs_of_connector(contract)
    yield from _of_other_connectors(contract)
    if connector.reads_sql:
        yield from _sql_reads(contract)
    if connector.issues is not None:
        yield from connector.issues(contract)


def _one_source(contract: StageContract) -> Iterator[Issue]:
    if not contract.sources:
        only = contract.objects[0] if len(contract.objects) == 1 else contract.root
        yield contract.missing("connector", contract.source or only, "rest")
    for extra in contract.sources[1:]:
        path = extra.custom["connector"].path
        yield Issue(path, "a second object has a connector", "write a contract of its own for each source")


def _connector(contract: StageContract) -> Iterator[Issue]:
    entry = None if contract.source is None else contract.source.custom.get("connector")
    if entry is not None and contract.connector is None:
        suggestion = did_you_mean(nearest(str(entry.value), CONNECTORS, 1))
        yield Issue(entry.path, f"'connector' must be one of {', '.join(CONNECTORS)}, not {entry.value!r}", suggestion)


def _landing_files(contract: StageContract) -> Iterator[Issue]:
    yield from contract.expect(
        "landing_directory",
        _is_relative_folder,
        "a folder below [landing] root, in which no name begins with '_' or '.'",
        "orders",
    )
    yield from contract.expect_choice("landing_file_format", tuple(FILE_FORMATS))


def _endpoint(contract: StageContract) -> Iterator[Issue]:
    entry = contract.lookup("endpoint")
    address = str(entry.value) if entry is not None else ""
    address = f"https:{address}" if address.startswith("//") else address
    if entry is not None and passwords_in(address):
        register(address, "endpoint")  # messages show the line that it is in
        fix = "write them in [sources.<name>] of tidegate.toml, where they come from the environment"
        yield Issue(entry.path, "'endpoint' holds credentials, which a contract and its manifests must not have", fix)


def _needs_of_connector(contract: StageContract) -> Iterator[Issue]:
    connector = contract.connector
    assert connector is not None
    for name in connector.needs:
        if name == "sql_extraction_mode":
            yield from contract.expect_choice(name, _EXTRACTION_MODES)
        else:
            accepts, meaning, example = _READ.get(name, _TEXT)
            yield from contract.expect(name, accepts, meaning, example)


def _of_other_connectors(contract: StageContract) -> Iterator[Issue]:
    """What this connector can do without must be usable where it is set."""
    connector = contract.connector
    assert connector is not None
    for name, (accepts, meaning, example) in _READ.items():
        if name not in connector.needs:
            yield from contract.expect(name, accepts, meaning, example, required=False)
    if "sql_extraction_mode" not in connector.needs:
        yield from contract.expect_choice("sql_extraction_mode", _EXTRACTION_MODES, required=False)


def _sql_reads(contract: StageContract) -> Iterator[Issue]:
    source = contract.source
    assert source is not None
    columns = {name.lower() for column in source.items("properties") if (name := column.column_name)}
    if contract.is_set("ingestion_read_strategy", "incremental"):
        yield from contract.expect("ingestion_filtering_column", *_READ["ingestion_filtering_column"])
    if contract.is_set("sql_extraction_mode", "batched"):
        yield from contract.expect("ingestion_ordering_columns", *_COLUMNS)
    for name in ("ingestion_filtering_column", "ingestion_ordering_columns"):
        entry = contract.lookup(name)
        values = [] if entry is None else entry.value if isinstance(entry.value, list) else str(entry.value).split(",")
        for column in (str(value).strip() for value in values):
            if entry is not None and columns and column and column.lower() not in columns:
                suggestion = did_you_mean(nearest(column, columns, 1))
                yield Issue(entry.path, f"'{name}' names column '{column}', which the source does not have", suggestion)


def bronze_issues(contract: StageContract) -> Iterator[Issue]:
    yield from _one_source(contract)
    yield from _landing_files(contract)
    if contract.source is not None:
        yield from table_name_issues(contract, contract.source, "bronze_table")


def table_name_issues(contract: StageContract, table: Element, property_name: str) -> Iterator[Issue]:
    """The table is called by the custom property, else by physicalName, else by name."""
    entry = contract.lookup(property_name, table)
    if entry is not None:
        name, path = entry.value, entry.path
    else:
        key = "physicalName" if table.text("physicalName") else "name"
        name, path = table.text(key), table.at(key)
    last = name.rpartition(".")[2] if isinstance(name, str) else ""
    if not is_plain_name(last):
        message = f"'{name}' is no name of a table" if name else "the object has no name for its table"
        suggestion = f"add {{property: {property_name}, value: orders}}, of letters, digits and underscores"
        yield Issue(path, message, suggestion)


def gold_issues(contract: StageContract, workspace_path: str | None) -> Iterator[Issue]:
    part = contract.with_generator()
    for table in contract.objects if part is contract.root else [part] if part is not None else []:
        yield from model_issues(table)
    entry = None if part is None else part.custom.get(GENERATOR)
    if entry is None:
        yield contract.missing(GENERATOR, part, "notebooks/revenue.py")
    elif not isinstance(entry.value, str) or not entry.value.strip():
        yield Issue(
            entry.path, "'generator_notebook' must be the path of a file", "write for example notebooks/revenue.py"
        )
    elif not entry.value.endswith((".py", ".ipynb")):
        yield Issue(entry.path, f"'generator_notebook' must end in .py or .ipynb, and is '{entry.value}'")
    elif workspace_path is not None and not os.path.isfile(os.path.join(workspace_path, entry.value)):
        yield Issue(entry.path, *missing_generator(entry.value, workspace_path))


def missing_generator(name: str, workspace_path: str) -> tuple[str, str]:
    """The message, and what to do."""
    return f"the generator_notebook '{name}' is not there in {workspace_path}", "correct the path, or add the file"


def _is_relative_folder(value: Any) -> bool:
    if not isinstance(value, str) or not value.strip() or "://" in value or "\\" in value:
        return False
    return not os.path.isabs(value) and is_zone_name(value.strip("/"))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_column_list(value: Any) -> bool:
    values = value.split(",") if isinstance(value, str) else value
    return isinstance(values, list) and bool(values) and all(isinstance(v, str) and v.strip() for v in values)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_duration(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


_Expected = tuple[Callable[[Any], bool], str, str]
"""Whether a value can be used, what it must be, and an example."""

_TEXT: _Expected = (_is_text, "text", "orders")
_COLUMNS: _Expected = (_is_column_list, "a list of columns", "[updated_at, id]")
_READ: dict[str, _Expected] = {
    "source": (_is_text, "text: the name of a [sources.NAME]", "shop"),
    "endpoint": (_is_text, "text", "https://api.example.com/orders"),
    "content_path": (lambda value: isinstance(value, str), "text: the path of the records in a page", "results"),
    "json_multiline": (lambda value: isinstance(value, bool), "true or false", "true"),
    "ingestion_filtering_column": (_is_text, "text", "updated_at"),
    "ingestion_ordering_columns": _COLUMNS,
    "batch_size": (_is_positive, "a positive whole number", "100000"),
    "capture_instance": (_is_text, "text", "dbo_orders"),
}
"""Custom properties of a source that are read where they are set."""
