"""Which column of the source a name in the contract means: one answer for the checks of a contract and for its run."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.element import Element

__all__ = ["source_column", "source_path"]


def source_column(source: Element, name: str) -> str | None:
    """A column of the source by its name or physicalName, as it is delivered; of a source that lists none, any."""
    columns = list(source.items("properties"))
    column = _called(columns, name)
    return (None if columns else name) if column is None else column.column_name


def source_path(source: Element, origin: str) -> tuple[str, ...] | None:
    """`column` or `object.column`, further steps lead into its JSON; None where the source has no such column.

    What begins with the name of the object is looked for in it first.
    """
    columns, steps = list(source.items("properties")), origin.split(".")
    for start in _starts(source, steps):
        path = _path(columns, steps[start:]) if columns else tuple(steps[start:])
        if path is not None:
            return path
    return None


def _starts(source: Element, steps: list[str]) -> Iterator[int]:
    owners = {(source.text(key) or "").lower() for key in ("name", "physicalName")} - {""}
    for start in range(1, len(steps)):
        if ".".join(steps[:start]).lower() in owners:
            yield start
    yield 0


def _path(columns: list[Element], steps: list[str]) -> tuple[str, ...] | None:
    """What is not described inside a column is taken as it is written."""
    column = _called(columns, steps[0])
    if column is None:
        return None
    nested = list(column.items("properties"))
    if len(steps) > 1 and not nested and steps[1].isdecimal():
        item = list(column.part("items").items("properties"))
        rest = tuple(steps[2:]) if not item or len(steps) == 2 else _path(item, steps[2:])
        return None if rest is None else (column.column_name, steps[1], *rest)
    inside = nested or list(column.part("items").items("properties"))
    if len(steps) == 1 or not inside:
        return column.column_name, *steps[1:]
    rest = _path(inside, steps[1:])
    return None if rest is None else (column.column_name, *rest)


def _called(columns: list[Element], name: str) -> Element | None:
    for column in columns:
        if name.lower() in {(column.text(key) or "").lower() for key in ("name", "physicalName")} - {""}:
            return column
    return None
