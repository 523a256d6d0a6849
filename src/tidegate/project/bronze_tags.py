"""Tags of a contract's bronze table: its rows stay as they came, so what silver masks is hidden there."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidegate.contracts.ingestion import Ingestion
from tidegate.names import TableName
from tidegate.problems import Place, Problem, Severity
from tidegate.project.column_masks import BUILT_IN_MASKS, PII, Tags, has_tag

__all__ = ["clear_in_bronze", "tags_of_bronze"]


def tags_of_bronze(ingestion: Ingestion, tags: Tags, silver: Tags, own: Collection[str]) -> tuple[Tags, list[str]]:
    """`tags` and `silver`: those set for the columns of each table; `own`: the project's masks. Also gives the columns
    with a mask, whose values bronze has in clear."""
    found = dict(tags)
    clear = [column for column, words in tags.items() if _masks(words, own) and _may_have(ingestion, column)]
    for column in ingestion.silver.columns:
        words = next((words for name, words in silver.items() if name.lower() == column.name.lower()), ())
        is_masked = _masks(words, own)
        if len(column.origin) != 1 or not (is_masked or has_tag(silver, column.name, PII)):
            continue
        origin = column.origin[0]
        name = next((name for name in found if name.lower() == origin.lower()), origin)
        found[name] = tuple(dict.fromkeys((*found.get(name, ()), PII)))
        if is_masked and origin.lower() not in map(str.lower, clear):
            clear.append(origin)
    hidden = {
        name: tuple(dict.fromkeys((*words, PII))) if _masks(words, own) else words for name, words in found.items()
    }
    return hidden, clear


def clear_in_bronze(table: TableName, columns: list[str], place: Place) -> Iterator[Problem]:
    if columns:
        name = f"{table.layer}.{table.name}"
        message = f"{name} holds {', '.join(columns)} in clear: masks apply from silver on, which is made of it"
        fix = f"restrict who reads {name}, its quarantine and its landing files; previews and messages hide the values"
        yield Problem("ClearInBronze", message, place, Severity.WARN, fix, name)


def _masks(words: Collection[str], own: Collection[str]) -> bool:
    return any(word.lower() in BUILT_IN_MASKS or word.lower() in own for word in words)


def _may_have(ingestion: Ingestion, column: str) -> bool:
    """Bronze has a column if the source lists it or silver reads it; other names are tags for other tables."""
    read = {origin.lower() for silver in ingestion.silver.columns for origin in silver.origin[:1]}
    return column.lower() in {*map(str.lower, ingestion.source.columns), *read}
