"""What contracts need of each other's landing zones, and of `[sources.<name>]`."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.compiled import Diagnostic
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.contracts.connectors import source_kinds
from tidegate.project import Place

__all__ = ["check_contract_sources"]


def check_contract_sources(work: CompilationState) -> Iterator[Diagnostic]:
    bronze = [draft for draft in work.drafts if draft.test is None and draft.model.stage and not draft.model.is_silver]
    yield from _shared_zones(work, bronze)
    for draft in bronze:
        yield from _other_kind(work, draft)


def _shared_zones(work: CompilationState, drafts: list[Draft]) -> Iterator[Diagnostic]:
    """A connector keeps what it has landed in its zone, and bronze reads all files that are there. Several contracts
    may read one zone that others fill."""
    others: dict[str, Draft] = {}
    for draft in sorted(drafts, key=lambda draft: (_zone(draft), draft.file)):
        zone = _zone(draft)
        around = ["/".join(zone.split("/")[:parts]) for parts in range(1, zone.count("/") + 2)]
        for other in (others[name] for name in around if name in others):
            if not (_is_filled(draft) or _is_filled(other)):
                continue
            owner = f"belongs to the contract in {other.file}"
            message = f"landing zone '{zone}' {owner}"
            if _zone(other) != zone:
                message = f"landing zone '{zone}' is within landing zone '{_zone(other)}', which {owner}"
            fix = "give each contract a landing_directory of its own, none within another"
            yield work.error(draft, "SharedLandingZone", message, _place(draft), fix)
        if zone not in others or _is_filled(draft):
            others[zone] = draft


def _other_kind(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    assert draft.model.stage is not None
    rules = draft.model.stage.ingestion.source
    source, kinds = work.settings.sources.get(rules.source), source_kinds(rules.connector)
    if source is not None and kinds and source.kind not in kinds:
        message = (
            f"source '{rules.source}' is of kind {source.kind}, and connector {rules.connector.name} reads those of "
            f"kind {' or '.join(kinds)}"
        )
        fix = "write its name as 'source' in the contract, or correct 'kind' in tidegate.toml"
        yield work.error(draft, "WrongSourceKind", message, _place(draft), fix)


def _is_filled(draft: Draft) -> bool:
    assert draft.model.stage is not None
    return draft.model.stage.ingestion.source.connector.reads_source


def _zone(draft: Draft) -> str:
    assert draft.model.stage is not None
    return draft.model.stage.ingestion.source.zone


def _place(draft: Draft) -> Place:
    return Place(draft.file, draft.model.source_lines[0])
