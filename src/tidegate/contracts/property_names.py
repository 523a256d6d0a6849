"""Custom properties that would have no effect: misspelt, set on the wrong object, or set twice."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.element import Element
from tidegate.contracts.issues import Issue
from tidegate.contracts.stage_contract import OF_SILVER, OF_SOURCE, StageContract
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["silver_name_issues", "source_name_issues"]

_KNOWN = OF_SOURCE | OF_SILVER
_REQUIRED = ("connector", "source_system", "landing_directory", "landing_file_format", "ingestion_read_strategy")
_SHORTEST = 8
"""Of shorter names another letter may well be meant."""


def source_name_issues(contract: StageContract) -> Iterator[Issue]:
    """Of the source object, and of the contract, whose properties hold for both objects."""
    yield from _twice(contract.root)
    yield from _misspelt(contract, contract.root)
    if contract.source is not None:
        yield from _twice(contract.source)
        yield from _misspelt(contract, contract.source)
        yield from _misplaced(contract.source, OF_SILVER, "the silver object, not to the source")


def silver_name_issues(contract: StageContract, silver: Element) -> Iterator[Issue]:
    yield from _twice(silver)
    yield from _misspelt(contract, silver)
    yield from _misplaced(silver, OF_SOURCE, "the source object, not to silver")


def _twice(part: Element) -> Iterator[Issue]:
    names: set[str] = set()
    for item in part.items("customProperties"):
        name = item.text("property")
        if name in names and name in _KNOWN:
            yield item.issue(f"the custom property '{name}' is set twice", "remove one", "property")
        names.add(name or "")


def _misspelt(contract: StageContract, part: Element) -> Iterator[Issue]:
    """What is required and missing is reported by its own name."""
    for name, entry in part.custom.items():
        near = nearest(name, _KNOWN, 1, edits=1) if name not in _KNOWN and len(name) >= _SHORTEST else ()
        if near and not (near[0] in _REQUIRED and contract.lookup(near[0]) is None):
            message = f"the custom property '{name}' is not known"
            yield Issue((*entry.path[:-1], "property"), message, did_you_mean(near))


def _misplaced(part: Element, others: frozenset[str], owner: str) -> Iterator[Issue]:
    for name, entry in part.custom.items():
        if name in others:
            message = f"the custom property '{name}' belongs to {owner}"
            yield Issue((*entry.path[:-1], "property"), message, "move it there, or to the contract")
