"""A view of one part of a contract that takes nothing for granted: what is missing or of a wrong type reads as absent.

Whether the document follows the standard is judged elsewhere (`odcs_schema`), so that all mistakes are found at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidegate.contracts.issues import Issue
from tidegate.contracts.yaml_document import Path

__all__ = ["CustomProperty", "Element"]


@dataclass(frozen=True, slots=True)
class CustomProperty:
    name: str
    value: Any
    path: Path
    """Of the value."""


@dataclass(frozen=True, slots=True)
class Element:
    value: dict[str, Any]
    path: Path = ()

    def at(self, *steps: str | int) -> Path:
        return (*self.path, *steps)

    def issue(self, message: str, suggestion: str | None = None, *steps: str | int) -> Issue:
        return Issue(self.at(*steps), message, suggestion)

    def text(self, key: str) -> str | None:
        value = self.value.get(key)
        return value.strip() if isinstance(value, str) and value.strip() else None

    def flag(self, key: str) -> bool | None:
        value = self.value.get(key)
        return value if isinstance(value, bool) else None

    def number(self, key: str) -> int | None:
        value = self.value.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def texts(self, key: str) -> list[str]:
        value = self.value.get(key)
        return [item.strip() for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def items(self, key: str) -> Iterator[Element]:
        value = self.value.get(key)
        for position, item in enumerate(value if isinstance(value, list) else []):
            if isinstance(item, dict):
                yield Element(item, self.at(key, position))

    def part(self, key: str) -> Element:
        value = self.value.get(key)
        return Element(value if isinstance(value, dict) else {}, self.at(key))

    @property
    def column_name(self) -> str:
        """Of a property: what its column is called; empty where it has no name."""
        return self.text("physicalName") or self.text("name") or ""

    @property
    def custom(self) -> dict[str, CustomProperty]:
        """Its custom properties; of two with one name the first."""
        properties: dict[str, CustomProperty] = {}
        for item in self.items("customProperties"):
            name = item.text("property")
            if name is not None and "value" in item.value:
                properties.setdefault(name, CustomProperty(name, item.value["value"], item.at("value")))
        return properties
