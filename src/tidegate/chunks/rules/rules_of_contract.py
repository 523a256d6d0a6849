"""An ODCS contract of the rows of a source: one object is enough, or the one without a connector of two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tidegate.chunks.rules.source_rules import ChunkRules
from tidegate.contracts.column_constraints import unevaluated
from tidegate.contracts.element import Element
from tidegate.contracts.ingestion import DEFAULT_NULL_VALUES, SilverColumn, SilverRules
from tidegate.contracts.issues import Issue, validation_error
from tidegate.contracts.read_ingestion import read_column, read_key, read_quality
from tidegate.contracts.silver_issues import silver_issues
from tidegate.contracts.source_columns import source_column, source_path
from tidegate.contracts.stage_contract import StageContract
from tidegate.contracts.stage_problems import read_stages
from tidegate.errors import ContractValidationError

__all__ = ["contract_rules"]

_PURPOSE = "for the rows of a source"
_NO_SOURCE = Element({})


def contract_rules(path: Path, shown: str, source: str) -> ChunkRules:
    """Raises ContractValidationError, with every mistake."""
    reading = read_stages(_text(path, shown), shown, stages=())
    if reading.contract is None or reading.document is None:
        raise reading.error()
    contract = reading.contract
    table = _table(contract, source)
    issues = [*reading.issues, *_issues(contract, table)]
    if issues or reading.document.problems or table is None:
        raise validation_error(reading.document, issues, _PURPOSE)
    root = contract.root
    return ChunkRules(
        root.text("id") or shown, root.text("version") or "", _rules(contract, table), key=(), not_evaluated=()
    )


def _text(path: Path, shown: str) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise ContractValidationError(_PURPOSE, ["there is no such file"], shown) from None
    except UnicodeDecodeError:
        raise ContractValidationError(_PURPOSE, ["it is not UTF-8 text"], shown) from None
    except OSError as error:
        raise ContractValidationError(_PURPOSE, [f"it cannot be read: {error.strerror or error}"], shown) from None


def _table(contract: StageContract, source: str) -> Element | None:
    """The object of silver, the only one, or the one that is called as the source."""
    if len(contract.objects) == 1:
        return contract.objects[0]
    if contract.silver is not None:
        return contract.silver
    named = [table for table in contract.objects if (table.text("name") or "").lower() == source.lower()]
    return named[0] if len(named) == 1 else None


def _issues(contract: StageContract, table: Element | None) -> Iterator[Issue]:
    if table is None:
        message = "several objects may describe the rows" if contract.objects else "the schema has no object"
        yield contract.root.issue(message, "give the one that does the name of the source", "schema")
        return
    for name in ("deletion_enabled", "deletion_indicator_column"):
        entry = contract.lookup(name, table)
        if entry is not None and entry.value not in (False, None):
            yield Issue(entry.path, f"a chunked load merges rows and deletes none, so '{name}' cannot be followed")
    yield from silver_issues(_only(contract, table))


def _only(contract: StageContract, table: Element) -> StageContract:
    """The contract as if the object were its silver object, for rules that are about this."""
    alone = StageContract(contract.root.value)
    is_both = table is contract.source
    alone.source = None if is_both else contract.source
    alone.sources = [] if is_both else contract.sources
    alone.others = [table]
    return alone


def _rules(contract: StageContract, table: Element) -> SilverRules:
    columns = list(table.items("properties"))
    null_values = contract.lookup("null_values", table)
    partitions = [column.column_name for column in columns if column.flag("partitioned")]
    rules = list(read_quality(table))
    others = [f"quality rule {name}" for name, rule in rules if rule is None]
    source = _NO_SOURCE if contract.source is None or contract.source is table else contract.source
    return SilverRules(
        name=table.text("name") or "",
        table=table.text("name") or "",
        columns=tuple(_column(source, column) for column in columns),
        key=read_key(columns),
        strategy="append",
        null_values=DEFAULT_NULL_VALUES if null_values is None else tuple(null_values.value),
        quality=tuple(rule for _, rule in rules if rule is not None),
        not_evaluated=(*others, *(text for column in columns for text in unevaluated(column))),
        partition_column=partitions[0] if partitions else None,
    )


def _column(source: Element, column: Element) -> SilverColumn:
    origins = column.texts("transformSourceObjects")
    if not origins:
        own = source_column(source, column.column_name)
        origin: tuple[str, ...] = () if own is None else (own,)
    else:
        origin = (source_path(source, origins[0]) or ()) if len(origins) == 1 else ()
    return replace(read_column(column), origin=origin, transform=column.text("transformLogic"))
