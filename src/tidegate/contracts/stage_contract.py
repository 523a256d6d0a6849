"""The two objects of a contract that drives data: the source, which has a `connector`, and silver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tidegate.contracts.connectors import CONNECTORS, Connector
from tidegate.contracts.element import CustomProperty, Element
from tidegate.contracts.issues import Issue, value_text
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["GENERATOR", "OF_SILVER", "OF_SOURCE", "StageContract", "is_text"]

GENERATOR = "generator_notebook"

OF_SOURCE = frozenset(
    [
        "batch_size",
        "bronze_table",
        "capture_instance",
        "cdc_held_back_seconds",
        "connector",
        "content_path",
        "endpoint",
        "incremental_parameter",
        "ingestion_filtering_column",
        "ingestion_ordering_columns",
        "ingestion_read_strategy",
        "json_multiline",
        "landing_directory",
        "landing_file_format",
        "pagination",
        "source",
        "source_system",
        "sql_extraction_mode",
    ]
)
"""The custom properties of a source object."""

OF_SILVER = frozenset(
    [
        "deletion_detection",
        "deletion_enabled",
        "deletion_indicator_column",
        "deletion_indicator_values",
        "deletion_max_ratio",
        "deletion_mode",
        "null_values",
        "silver_table",
        "silver_write_strategy",
    ]
)
"""Those of a silver object."""

_OF_A_SOURCE = frozenset({"source_system", "landing_directory", "landing_file_format", "ingestion_read_strategy"})
"""An object with one of these is meant as the source, also where its connector is missing."""

_OF_NOTHING_ELSE = _OF_A_SOURCE - {"source_system"}
"""With one of these the contract is meant to drive data."""


class StageContract:
    """Looks custom properties up: on the object first, then on the contract."""

    def __init__(self, value: Any) -> None:
        self.root = Element(value if isinstance(value, dict) else {})
        self.objects = list(self.root.items("schema"))
        self.sources = [table for table in self.objects if "connector" in table.custom]
        meant = [
            table for table in self.objects if _OF_NOTHING_ELSE & table.custom.keys() or _nearly(table, "connector")
        ]
        self.is_ingestion = bool(self.sources or meant)
        """It is meant to drive data, also where `connector` is missing or misspelt."""

        meant = self.sources or meant or [table for table in self.objects if _OF_A_SOURCE & table.custom.keys()]
        self.source = meant[0] if meant else None
        self.others = [table for table in self.objects if table is not self.source and table not in self.sources]

    @property
    def silver(self) -> Element | None:
        """The object without a connector; of several, the one that names its table with `silver_table`."""
        named = [table for table in self.others if "silver_table" in table.custom]
        candidates = named or self.others
        return candidates[0] if len(candidates) == 1 else None

    @property
    def connector(self) -> Connector | None:
        entry = None if self.source is None else self.source.custom.get("connector")
        return CONNECTORS.get(entry.value) if entry is not None and isinstance(entry.value, str) else None

    def with_generator(self) -> Element | None:
        """What has `generator_notebook`, an object or the contract, or something that is nearly called so."""
        parts = (*self.objects, self.root)
        named = (part for part in parts if GENERATOR in part.custom)
        return next(named, None) or next((part for part in parts if _nearly(part, GENERATOR)), None)

    def lookup(self, name: str, table: Element | None = None) -> CustomProperty | None:
        """`table`: the object to look at first, the source by default."""
        table = table or self.source
        own = None if table is None else table.custom.get(name)
        return own or self.root.custom.get(name)

    def text(self, name: str, table: Element | None = None) -> str | None:
        entry = self.lookup(name, table)
        return entry.value.strip() if entry is not None and isinstance(entry.value, str) else None

    def table_name(self, table: Element, property_name: str) -> str:
        """What its table is called: by the custom property, else by physicalName, else by name; without a layer."""
        name = self.text(property_name, table) or table.text("physicalName") or table.text("name") or ""
        return name.rpartition(".")[2]

    def is_set(self, name: str, value: Any, table: Element | None = None) -> bool:
        entry = self.lookup(name, table)
        return entry is not None and type(entry.value) is type(value) and bool(entry.value == value)

    def missing(self, name: str, table: Element | None, example: str) -> Issue:
        """A property with nearly this name is what was meant."""
        owner = table or self.root
        near = nearest(name, {*owner.custom, *self.root.custom} - OF_SOURCE - OF_SILVER, 1)
        suggestion = f"add for example {{property: {name}, value: {example}}}"
        if near:
            suggestion = f"'{near[0]}' is set; rename it to '{name}'"
        return owner.issue(f"the custom property '{name}' is missing", suggestion, "customProperties")

    def expect(
        self,
        name: str,
        accepts: Callable[[Any], bool],
        meaning: str,
        example: str,
        table: Element | None = None,
        required: bool = True,
    ) -> Iterator[Issue]:
        """`meaning`: what the value must be, after "must be"."""
        entry = self.lookup(name, table)
        if entry is None:
            if required:
                yield self.missing(name, table or self.source, example)
        elif not accepts(entry.value):
            yield Issue(
                entry.path, f"'{name}' must be {meaning}, not {value_text(entry.value)}", f"write for example {example}"
            )

    def expect_text(self, name: str, example: str, table: Element | None = None) -> Iterator[Issue]:
        yield from self.expect(name, is_text, "text", example, table)

    def expect_choice(
        self, name: str, choices: Sequence[str], table: Element | None = None, required: bool = True
    ) -> Iterator[Issue]:
        entry = self.lookup(name, table)
        if entry is not None and isinstance(entry.value, str) and entry.value not in choices:
            suggestion = did_you_mean(nearest(entry.value, choices, 1))
            message = f"'{name}' must be one of {', '.join(choices)}, not {value_text(entry.value)}"
            yield Issue(entry.path, message, suggestion)
            return
        yield from self.expect(
            name, lambda value: value in choices, f"one of {', '.join(choices)}", choices[0], table, required
        )


def _nearly(part: Element, name: str) -> bool:
    """Whether a custom property is called so but for its case or one letter."""
    return any(nearest(written, [name], edits=1) for written in part.custom)


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
