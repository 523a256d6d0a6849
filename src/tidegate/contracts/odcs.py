"""An ODCS v3 file beside a model: the contract for the model's columns, from its schema."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tidegate.contracts.model_contract import (
    LOGICAL_TYPES,
    ColumnRule,
    ContractTerm,
    ModelContract,
    TypeRule,
    logical_rule,
    physical_rule,
)
from tidegate.names import nearest
from tidegate.problems import Place, Problem, did_you_mean, not_yaml

__all__ = ["CONTRACT_KEYS", "OBJECT_KEYS", "PROPERTY_KEYS", "Keys", "YamlDocument", "YamlEntry", "read_odcs"]


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """A value of a mapping: its node, and where its key stands."""

    node: Any
    place: Place


Keys = Mapping[str, YamlEntry]


class YamlDocument:
    """One file being read; nothing that is wrong stops it. Raises yaml.YAMLError where the text is no YAML."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self._loader = yaml.SafeLoader(text)
        self._mappings: dict[int, Keys] = {}
        self.root = self._loader.get_single_node()

    def report(self, place: Place, message: str, suggestion: str | None = None) -> None:
        self.problems.append(Problem("InvalidContract", message, place, suggestion=suggestion))

    def place(self, node: Any) -> Place:
        return Place(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def check_keys(self, found: Keys, known: Collection[str]) -> None:
        for key, entry in found.items():
            if key not in known:
                suggestion = did_you_mean(nearest(key, known, 1)) or "what is not in the standard is a customProperty"
                self.report(entry.place, f"unknown key '{key}'", suggestion)

    def items(self, found: Keys, key: str) -> list[Keys]:
        """The mappings of a list; whatever else stands there is reported."""
        if key not in found:
            return []
        node = found[key].node
        if not isinstance(node, yaml.SequenceNode):
            self.report(found[key].place, f"'{key}' must be a list")
            return []
        items = []
        for item in node.value:
            if isinstance(item, yaml.MappingNode):
                items.append(self.mapping(item))
            else:
                self.report(self.place(item), f"each item of '{key}' must hold keys and values")
        return items

    def mapping(self, node: Any) -> Keys:
        if id(node) in self._mappings:
            return self._mappings[id(node)]
        own: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in own:
                self.report(self.place(key), f"'{key.value}' is set twice")
            own.add(str(key.value))
        try:
            self._loader.flatten_mapping(node)
        except yaml.MarkedYAMLError as error:
            self.report(self.place(node), f"'<<' cannot be followed: {error.problem}")
        found = {str(key.value): YamlEntry(value, self.place(key)) for key, value in node.value}
        self._mappings[id(node)] = found
        return found

    def text(self, entry: YamlEntry, key: str) -> str | None:
        value = self.scalar(entry.node)
        if isinstance(value, str) and value.strip():
            return value.strip()
        self.report(entry.place, f"'{key}' must be text{_shown(value)}", _quoted(entry.node, value))
        return None

    def boolean(self, entry: YamlEntry, key: str) -> bool | None:
        value = self.scalar(entry.node)
        if isinstance(value, bool):
            return value
        self.report(entry.place, f"'{key}' must be true or false{_shown(value)}")
        return None

    def scalar(self, node: Any) -> Any:
        """A plain value as YAML understands it; None for a list or a mapping."""
        if not isinstance(node, yaml.ScalarNode):
            return None
        try:
            return self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError):
            return node.value


def _shown(value: Any) -> str:
    return "" if value is None else f", not {str(value).lower() if isinstance(value, bool) else repr(value)}"


def _quoted(node: Any, value: Any) -> str | None:
    """YAML takes words such as `no` and `on` for something else."""
    is_word = isinstance(node, yaml.ScalarNode) and node.value and not isinstance(value, str)
    return f"write '{node.value}' in quotes" if is_word else None


_NEEDED = ("version", "apiVersion", "kind", "id")
_VERSION = re.compile(r"v3\.(\d+)\.\d+")
_NEWEST_KNOWN = 2
"""Later versions of the standard may have keys that are not known here."""


def read_odcs(text: str, file: str, table: str) -> tuple[ModelContract | None, tuple[Problem, ...]]:
    """Every property of the schema must be a column of the model; `required` means that it never holds NULL."""
    try:
        document = YamlDocument(text, file)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return None, (not_yaml(error, file),)
    contract = _OdcsReader(document).contract(table)
    return contract, tuple(document.problems)


class _OdcsReader:
    def __init__(self, document: YamlDocument) -> None:
        self.document, self.file = document, document.file
        self.knows_all_keys = True

    def contract(self, table: str) -> ModelContract | None:
        root = self.document.root
        if not isinstance(root, yaml.MappingNode):
            place = Place(self.file) if root is None else self.document.place(root)
            self.document.report(place, "an ODCS contract must hold keys and values, as in 'kind: DataContract'")
            return None
        found = self.document.mapping(root)
        self._check_head(found)
        self._check_keys(found, CONTRACT_KEYS)
        objects = self.document.items(found, "schema")
        if not objects:
            if "schema" not in found:
                message = "the contract has no 'schema', so it says nothing about the model"
                self.document.report(Place(self.file), message, "add schema, with the model's columns as properties")
            return ModelContract(self.file)
        chosen = self._choose(objects, table)
        self._check_keys(chosen, OBJECT_KEYS)
        return self._columns(self.document.items(chosen, "properties"))

    def _check_head(self, found: Keys) -> None:
        for key in _NEEDED:
            if key not in found:
                self.document.report(Place(self.file), f"an ODCS contract must have '{key}'", _example(key))
        if "kind" in found and (kind := self.document.text(found["kind"], "kind")) not in (None, "DataContract"):
            self.document.report(found["kind"].place, f"'kind' must be DataContract, not '{kind}'")
        if "apiVersion" in found and (written := self.document.text(found["apiVersion"], "apiVersion")) is not None:
            version = _VERSION.fullmatch(written)
            if version is None:
                message = f"'apiVersion' must be a version 3 of the standard, not '{written}'"
                self.document.report(found["apiVersion"].place, message, _example("apiVersion"))
            self.knows_all_keys = version is None or int(version[1]) <= _NEWEST_KNOWN

    def _choose(self, objects: list[Keys], table: str) -> Keys:
        """The object that is called as the model's table is, else the first."""
        for found in objects:
            names = [self.document.scalar(found[key].node) for key in ("physicalName", "name") if key in found]
            if any(str(name).rpartition(".")[2].lower() == table.lower() for name in names):
                return found
        return objects[0]

    def _columns(self, properties: list[Keys]) -> ModelContract:
        required: dict[str, ContractTerm[str]] = {}
        protected: list[ContractTerm[str]] = []
        rules: list[ColumnRule] = []
        for found in properties:
            self._check_keys(found, PROPERTY_KEYS)
            named = self._name(found)
            if named is None or self._is_measure(found):
                continue
            if named.value.lower() in required:
                self.document.report(named.place, f"column '{named.value}' is described twice")
                continue
            required[named.value.lower()] = named
            rules.append(ColumnRule(named.value, named.place, self._type(found, named.value), self._not_null(found)))
            if place := self._protected(found):
                protected.append(ContractTerm(named.value, place))
        return ModelContract(self.file, tuple(required.values()), tuple(protected), tuple(rules))

    def _name(self, found: Keys) -> ContractTerm[str] | None:
        if "name" not in found:
            place = next(iter(found.values())).place if found else Place(self.file)
            self.document.report(place, "a property must have a 'name'")
            return None
        key = "physicalName" if "physicalName" in found else "name"
        name = self.document.text(found[key], key)
        return None if name is None else ContractTerm(name, found[key].place)

    def _is_measure(self, found: Keys) -> bool:
        """A measure is computed when the table is read, and is none of its columns."""
        return "semanticType" in found and self.document.scalar(found["semanticType"].node) == "measure"

    def _type(self, found: Keys, name: str) -> ContractTerm[TypeRule] | None:
        physical = self.document.text(found["physicalType"], "physicalType") if "physicalType" in found else None
        logical = self.document.text(found["logicalType"], "logicalType") if "logicalType" in found else None
        if logical is not None and logical_rule(logical) is None:
            message = f"the logicalType of column '{name}' is not one of the standard's: '{logical}'"
            suggestion = did_you_mean(nearest(logical, LOGICAL_TYPES, 1)) or f"known are {', '.join(LOGICAL_TYPES)}"
            self.document.report(found["logicalType"].place, message, suggestion)
        if physical is not None:
            rule = physical_rule(physical)
            if rule is None:
                message = f"the physicalType of column '{name}' is not one of Spark's: '{physical}'"
                suggestion = "write for example bigint, decimal(10,2) or timestamp, or leave it to logicalType"
                self.document.report(found["physicalType"].place, message, suggestion)
            return None if rule is None else ContractTerm(rule, found["physicalType"].place)
        rule = None if logical is None else logical_rule(logical)
        return None if rule is None else ContractTerm(rule, found["logicalType"].place)

    def _not_null(self, found: Keys) -> ContractTerm[bool] | None:
        if "required" not in found:
            return None
        value = self.document.boolean(found["required"], "required")
        return None if value is None else ContractTerm(not value, found["required"].place)

    def _protected(self, found: Keys) -> Place | None:
        for custom in self.document.items(found, "customProperties"):
            if "property" not in custom or self.document.scalar(custom["property"].node) != "protected":
                continue
            if "value" not in custom:
                self.document.report(
                    custom["property"].place, "customProperties 'protected' must have a value, true or false"
                )
            elif self.document.boolean(custom["value"], "value"):
                return custom["property"].place
        return None

    def _check_keys(self, found: Keys, known: Collection[str]) -> None:
        if self.knows_all_keys:
            self.document.check_keys(found, known)


def _example(key: str) -> str:
    values = {"version": "1.0.0", "apiVersion": "v3.1.0", "kind": "DataContract", "id": "orders"}
    return f"write for example {key}: {values[key]}"


CONTRACT_KEYS = frozenset(
    {
        "version",
        "kind",
        "apiVersion",
        "id",
        "name",
        "tenant",
        "tags",
        "status",
        "servers",
        "dataProduct",
        "description",
        "domain",
        "context",
        "schema",
        "support",
        "price",
        "team",
        "roles",
        "slaDefaultElement",
        "slaProperties",
        "authoritativeDefinitions",
        "customProperties",
        "contractCreatedTs",
    }
)

_ELEMENT_KEYS = frozenset(
    {
        "id",
        "name",
        "physicalType",
        "physicalName",
        "logicalType",
        "description",
        "businessName",
        "deprecated",
        "synonyms",
        "authoritativeDefinitions",
        "tags",
        "customProperties",
        "relationships",
        "quality",
        "properties",
    }
)

OBJECT_KEYS = _ELEMENT_KEYS | {"dataGranularityDescription", "context"}

PROPERTY_KEYS = _ELEMENT_KEYS | {
    "primaryKey",
    "primaryKeyPosition",
    "logicalTypeOptions",
    "required",
    "unique",
    "semanticType",
    "partitioned",
    "partitionKeyPosition",
    "classification",
    "encryptedName",
    "transformSourceObjects",
    "transformLogic",
    "transformDescription",
    "examples",
    "enum",
    "criticalDataElement",
    "items",
    "map",
}
