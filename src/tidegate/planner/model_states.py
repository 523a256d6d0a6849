"""Which models were never built, or are defined otherwise than the tables on main record."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.compiler.values import Compiled
from tidegate.lake.metadata import ViewMetadata, read_metadata
from tidegate.lake.port import Heads
from tidegate.names import TableName
from tidegate.project.model import Materialized

__all__ = ["ModelStates", "read_states"]


@dataclass(frozen=True, slots=True)
class ModelStates:
    """`new`: main has no table of the model, or one that no run of it made. `changed`: its definition is another."""

    new: frozenset[TableName] = frozenset()
    changed: frozenset[TableName] = frozenset()

    @property
    def modified(self) -> frozenset[TableName]:
        return self.new | self.changed


def read_states(compiled: Compiled, heads: Heads) -> ModelStates:
    """`heads`: main. Of ephemeral models, which have no table, the readers are modified with them."""
    new, changed = set(), set()
    for table in (table for wave in compiled.waves for table in wave):
        model, pointer = compiled.models[table], heads.get(table)
        metadata = read_metadata(pointer) if pointer is not None else None
        is_view = model.model.settings.materialized is Materialized.VIEW
        if metadata is None or metadata.progress is None or isinstance(metadata, ViewMetadata) is not is_view:
            new.add(table)
        elif metadata.progress.fingerprint != model.fingerprint:
            changed.add(table)
    return ModelStates(frozenset(new), frozenset(changed))
