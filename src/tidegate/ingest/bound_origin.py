"""What a checkpoint is a value of. Of another column or another table it says nothing."""

from __future__ import annotations

from dataclasses import dataclass

from blake3 import blake3

from tidegate.contracts.ingestion import SourceRules

__all__ = ["BoundOrigin", "bound_origin"]


@dataclass(frozen=True, slots=True)
class BoundOrigin:
    """Its JSON is in manifests and in a property of bronze tables, so a field keeps its name."""

    digest: str
    text: str
    """For messages, such as `updated_at of public.orders`; without a query, which may have credentials."""


def bound_origin(source: SourceRules) -> BoundOrigin:
    place = source.endpoint or source.physical_name or source.name
    settings = [source.properties.get(name) for name in ("incremental_parameter", "capture_instance")]
    identity = (source.connector.name, source.source, place, source.filtering_column, *settings)
    shown = place.partition("?")[0].rpartition("@")[2]
    column = "the commit time" if source.connector.reads_log else f"'{source.filtering_column}'"
    text = f"{column} of {shown} in {source.connector.name} {source.source}"
    return BoundOrigin(blake3(repr(identity).encode()).hexdigest(length=16), text)
