"""The promises of one table, each with the place in the contract file where it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from tidegate.contracts.type_rules import TypeRule
from tidegate.problems import Place

__all__ = ["ColumnRule", "Fact", "ModelContract"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """Something that a contract says, and where it says it."""

    value: T
    place: Place


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """What a contract says of one column; None: nothing. `nullable` False: it never holds NULL."""

    name: str
    place: Place
    type: Fact[TypeRule] | None = None
    nullable: Fact[bool] | None = None


@dataclass(frozen=True, slots=True)
class ModelContract:
    """`required` columns must be there; `protected` ones may not be removed. `columns` hold for those that are there.

    Case does not count in names of columns; no list has a name twice.
    """

    file: str
    required: tuple[Fact[str], ...] = ()
    protected: tuple[Fact[str], ...] = ()
    columns: tuple[ColumnRule, ...] = ()
