"""An ODCS v3 file beside a model: the contract for the model's columns, from its schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidegate.contracts.column_constraints import constraint_issues, unevaluated
from tidegate.contracts.column_types import type_issues
from tidegate.contracts.element import Element
from tidegate.contracts.ingestion import TableRules
from tidegate.contracts.issues import Issue, problems_of
from tidegate.contracts.model_contract import (
    ColumnRule,
    ContractTerm,
    ModelContract,
    RowRules,
    TypeRule,
    logical_rule,
    physical_rule,
)
from tidegate.contracts.odcs_schema import structural_issues
from tidegate.contracts.read_ingestion import read_column, read_key, read_quality
from tidegate.contracts.yaml_document import YamlDocument, read_yaml
from tidegate.problems import Place, Problem

__all__ = ["model_issues", "read_odcs"]


def read_odcs(text: str, file: str, table: str) -> tuple[ModelContract | None, tuple[Problem, ...]]:
    """Every property of the schema must be a column of the model; `required` means that it never holds NULL."""
    document, problems = read_yaml(text, file)
    if document is None:
        return None, problems
    issues = list(structural_issues(document))
    if not isinstance(document.value, dict):
        return None, problems_of(document, issues)
    reader = _ModelContractReader(document)
    contract = reader.contract(table)
    if not issues and not reader.issues:
        contract = replace(contract, rows=reader.rows(table))
    return contract, problems_of(document, [*issues, *reader.issues])


class _ModelContractReader:
    def __init__(self, document: YamlDocument) -> None:
        self.document = document
        self.issues: list[Issue] = []

    def contract(self, table: str) -> ModelContract:
        root = Element(self.document.value)
        if "schema" not in root.value:
            message = "the contract has no 'schema', so it says nothing about the model"
            self.issues.append(root.issue(message, "add schema, with the model's columns as properties"))
        objects = list(root.items("schema"))
        return self._columns(_object_of(objects, table)) if objects else ModelContract(self.document.file)

    def _columns(self, table: Element) -> ModelContract:
        required: dict[str, ContractTerm[str]] = {}
        protected: list[ContractTerm[str]] = []
        rules: list[ColumnRule] = []
        self.issues += model_issues(table)
        for column, key, name in _described(table):
            if name.lower() in required:
                continue
            place = self.document.place(column.at(key))
            required[name.lower()] = ContractTerm(name, place)
            rules.append(ColumnRule(name, place, self._type(column, name), self._not_null(column)))
            mark = column.custom.get("protected")
            if mark is not None and mark.value is True:
                protected.append(ContractTerm(name, self.document.place(mark.path)))
        return ModelContract(self.document.file, tuple(required.values()), tuple(protected), tuple(rules))

    def rows(self, name: str) -> RowRules | None:
        """Of a contract without issues."""
        objects = list(Element(self.document.value).items("schema"))
        if not objects:
            return None
        table = _object_of(objects, name)
        columns = [column for column, _, _ in _described(table)]
        rules = TableRules(
            name=table.text("name") or "",
            table=(table.text("physicalName") or table.text("name") or "").rpartition(".")[2],
            columns=tuple(map(read_column, columns)),
            key=read_key(columns),
        )
        quality = [
            (name, None if rule is None else ContractTerm(rule, self.document.place(rule.path)))
            for name, rule in read_quality(table)
        ]
        others = [f"quality rule {name}" for name, term in quality if term is None]
        return RowRules(
            rules,
            tuple(term for _, term in quality if term is not None),
            (*others, *(text for column in columns for text in unevaluated(column))),
            {(column.column_name, key): place for column in columns for key, place in self._places(column)},
        )

    def _places(self, column: Element) -> Iterator[tuple[str, Place]]:
        """Of each key of the column, its options included; an empty key: of the column."""
        yield "", self.document.place(column.path)
        for key in column.value:
            yield key, self.document.place(column.at(key))
        for option in column.part("logicalTypeOptions").value:
            yield option, self.document.place(column.at("logicalTypeOptions", option))

    def _type(self, column: Element, name: str) -> ContractTerm[TypeRule] | None:
        if physical := column.text("physicalType"):
            rule, key = physical_rule(physical), "physicalType"
        else:
            rule, key = logical_rule(column.text("logicalType") or ""), "logicalType"
        return None if rule is None else ContractTerm(rule, self.document.place(column.at(key)))

    def _not_null(self, column: Element) -> ContractTerm[bool] | None:
        required = column.flag("required")
        return None if required is None else ContractTerm(not required, self.document.place(column.at("required")))


def model_issues(table: Element) -> Iterator[Issue]:
    """What is wrong with the columns that a contract asks of a model."""
    names: set[str] = set()
    for column in table.items("properties"):
        key = _name_key(column)
        if isinstance(column.value.get(key), str) and column.text(key) is None:
            yield column.issue(f"'{key}' must not be empty", None, key)
    for column, _, name in _described(table):
        if name.lower() in names:
            yield column.issue(f"column '{name}' is described twice")
            continue
        names.add(name.lower())
        yield from type_issues(column, name)
        yield from constraint_issues(column, name)
        mark = column.custom.get("protected")
        if mark is not None and not isinstance(mark.value, bool):
            yield Issue(mark.path, "'protected' must be true or false")


def _described(table: Element) -> Iterator[tuple[Element, str, str]]:
    """Each column with its name and the key of that; measures are none."""
    for column in table.items("properties"):
        key = _name_key(column)
        name = column.text(key)
        if name is not None and column.text("semanticType") != "measure":
            yield column, key, name


def _name_key(column: Element) -> str:
    return "physicalName" if "physicalName" in column.value else "name"


def _object_of(objects: list[Element], table: str) -> Element:
    """The object that is called as the model's table is, else the first."""
    for candidate in objects:
        names = (candidate.text(key) or "" for key in ("physicalName", "name"))
        if any(name.rpartition(".")[2].lower() == table.lower() for name in names):
            return candidate
    return objects[0]
