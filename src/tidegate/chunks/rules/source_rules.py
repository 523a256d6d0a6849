"""The rules of a source, whatever they are written in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tidegate.config import ChunkSource
from tidegate.contracts.ingestion import SilverColumn, SilverRules
from tidegate.contracts.quality_query import is_select
from tidegate.errors import ConfigError
from tidegate.names import nearest

__all__ = ["ChunkRules", "source_rules"]


@dataclass(frozen=True, slots=True)
class ChunkRules:
    id: str
    version: str
    rules: SilverRules
    """About each row alone. What compares rows, a key that comes twice, is up to the table."""

    key: tuple[str, ...]
    """The columns that identify a row of the table."""

    partition_key: str | None = None
    not_evaluated: tuple[str, ...] = ()
    """What else is asked for, in words."""

    @property
    def columns(self) -> tuple[SilverColumn, ...]:
        return self.rules.columns


def source_rules(root: Path, source: ChunkSource) -> ChunkRules:
    """Raises ContractValidationError and ConfigError."""
    if source.contract is not None:
        from tidegate.chunks.rules.rules_of_contract import contract_rules  # YAML takes a while to load

        found = contract_rules(root / source.contract, source.contract, source.name)
    else:
        from tidegate.chunks.rules.rules_of_model import model_rules

        assert source.model is not None
        found = model_rules(root, source.model, source.name)
    return _about_rows(found, source)


def _about_rows(found: ChunkRules, source: ChunkSource) -> ChunkRules:
    rules, title = found.rules, f"[chunks.sources.{source.name}]"
    names = {column.name.lower(): column.name for column in rules.columns}
    key = tuple(_named(names, name, f"primary_key of {title}", found.id) for name in source.primary_key or rules.key)
    if not key:
        raise ConfigError(
            f"source '{source.name}' has no primary key",
            where=title,
            remedy="set primaryKey: true on the columns of the key in its contract, or primary_key in tidegate.toml",
        )
    partition = source.partition_key or rules.partition_column
    if partition is not None:
        partition = _named(names, partition, f"partition_key of {title}", found.id)
    in_key = {name.lower() for name in key}
    unique = [
        f"unique of {column.name}" for column in rules.columns if column.unique and {column.name.lower()} != in_key
    ]
    tables = [f"quality rule {rule.name}, which is about all rows" for rule in rules.quality if is_select(rule.query)]
    columns = tuple(
        replace(column, primary_key=column.name.lower() in in_key, unique=False) for column in rules.columns
    )
    about_rows = replace(
        rules,
        columns=columns,
        key=(),
        strategy="append",
        quality=tuple(rule for rule in rules.quality if not is_select(rule.query)),
    )
    return replace(
        found,
        rules=about_rows,
        key=key,
        partition_key=partition,
        not_evaluated=(*rules.not_evaluated, *unique, *tables),
    )


def _named(names: dict[str, str], name: str, what: str, owner: str) -> str:
    if name.lower() in names:
        return names[name.lower()]
    close = nearest(name, names.values(), 1)
    raise ConfigError(
        f"{what} names '{name}', and {owner} has no such column",
        where="tidegate.toml",
        remedy=f"did you mean '{close[0]}'?" if close else f"its columns are {', '.join(names.values())}",
    )
