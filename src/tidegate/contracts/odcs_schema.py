"""A contract against the JSON Schema of the standard: every violation, in words, with its path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft201909Validator, ValidationError
from jsonschema.exceptions import relevance

from tidegate.contracts.issues import Issue, value_text
from tidegate.contracts.yaml_document import Path, YamlDocument
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["structural_issues"]

_VERSION = re.compile(r"v3\.(\d+)\.\d+")
_NEWEST_MINOR = 2
"""Later versions of the standard may have keys that are not known here."""

_EXAMPLES = {"version": "1.0.0", "apiVersion": "v3.1.0", "kind": "DataContract", "id": "orders"}

_TYPES: dict[str, str] = {
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "keys and values",
    "number": "a number",
    "integer": "a whole number",
    "null": "empty",
}


def structural_issues(document: YamlDocument) -> Iterator[Issue]:
    """Where the document does not follow the standard."""
    if not isinstance(document.value, dict):
        yield Issue((), "an ODCS contract must hold keys and values, as in 'kind: DataContract'")
        return
    version = document.value.get("apiVersion")
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if isinstance(version, str) and match is None:
        message = f"'apiVersion' must be a version 3 of the standard, not '{version}'"
        yield Issue(("apiVersion",), message, f"write for example apiVersion: {_EXAMPLES['apiVersion']}")
    judges_keys = match is None or int(match[1]) <= _NEWEST_MINOR
    reader = _Violations(document, judges_keys)
    is_first = match is not None and int(match[1]) == 0
    yield from reader.of(_validator(is_first).iter_errors(document.value))


@cache
def _validator(is_first: bool = False) -> Draft201909Validator:
    """With two corrections: what holds for one logicalType does not hold where none is given, and the version is
    judged here. `is_first`: for v3.0, which allowed what later versions do not."""
    schema = json.loads(files("open_data_contract_standard").joinpath("schema.json").read_text("utf-8"))
    del schema["properties"]["apiVersion"]["enum"]
    for rule in schema["$defs"]["SchemaBaseProperty"]["allOf"]:
        if "if" in rule:
            rule["if"]["required"] = ["logicalType"]
    if is_first:
        _allow_v3_0(schema["$defs"])
    return Draft201909Validator(schema)


def _allow_v3_0(definitions: dict[str, Any]) -> None:
    """Rules of quality that name only a `rule`, comments on team members, `column` of an SLA, and exclusive bounds
    that are true or false."""
    operators = [part["properties"] for part in definitions["DataQualityOperators"]["oneOf"]]
    library = definitions["DataQualityLibrary"]
    del library["allOf"], library["required"]
    rules = definitions["DataQuality"]["properties"]
    rules["rule"] = {"type": "string"}
    for properties in operators:
        rules |= properties
    definitions["TeamMember"]["properties"]["comment"] = {"type": "string"}
    definitions["ServiceLevelAgreementProperty"]["properties"]["column"] = {"type": "string"}
    for part in definitions["SchemaBaseProperty"]["allOf"]:
        options = part.get("then", {}).get("properties", {}).get("logicalTypeOptions", {}).get("properties", {})
        for bound in ("exclusiveMaximum", "exclusiveMinimum"):
            if bound in options:
                options[bound] = {"type": [options[bound]["type"], "boolean"]}


class _Violations:
    def __init__(self, document: YamlDocument, judges_keys: bool) -> None:
        self.document, self.judges_keys = document, judges_keys

    def of(self, errors: Iterable[ValidationError]) -> Iterator[Issue]:
        """Keys that are only not evaluated, because something else is wrong beside them, are not reported."""
        errors = list(errors)
        broken = {tuple(error.absolute_path) for error in errors if error.validator != "unevaluatedProperties"}
        for error in errors:
            path = tuple(error.absolute_path)
            if error.validator in ("additionalProperties", "unevaluatedProperties"):
                beside = any(other[: len(path)] == path for other in broken)
                yield from self._unknown_keys(error, path, beside)
            else:
                yield from self._violation(error, path)

    def _violation(self, error: ValidationError, path: Path) -> Iterator[Issue]:
        match error.validator:
            case "required":
                yield from self._missing(error, path)
            case "type":
                yield self._wrong_type(error, path)
            case "enum":
                yield _not_listed(error, path)
            case "oneOf" | "anyOf":
                yield from self._no_alternative(error, path)
            case "pattern":
                message = f"{_name(path)} must match {error.validator_value}, and is {value_text(error.instance)}"
                yield Issue(path, message)
            case "minItems":
                yield Issue(path, f"{_name(path)} must have {error.validator_value} or more items")
            case "uniqueItems":
                yield Issue(path, f"{_name(path)} has an item twice")
            case "not":
                keys = ", ".join(f"'{key}'" for key in _rule(error).get("required", ()))
                yield Issue(path, f"{_owner(path)} must not have {keys or 'this value'}")
            case _:
                reason = error.message if len(error.message) <= 200 else f"{error.message[:200]}…"
                yield Issue(path, f"{_name(path)} is not valid: {reason}")

    def _missing(self, error: ValidationError, path: Path) -> Iterator[Issue]:
        """The validator reports each missing key by itself, and repeats what several rules ask."""
        key = next(key for key in _rule(error) if error.message.startswith(f"{key!r} is"))
        owner = "an ODCS contract" if not path else _owner(path)
        yield Issue(path, f"{owner} must have '{key}'", _example(key) if not path else None)

    def _wrong_type(self, error: ValidationError, path: Path) -> Issue:
        wanted = _rule(error) if isinstance(_rule(error), list) else [_rule(error)]
        kinds = " or ".join(_TYPES.get(kind, kind) for kind in wanted)
        if path and isinstance(path[-1], int) and kinds == "keys and values":
            return Issue(path, f"each item of {_name(path)} must hold keys and values")
        written = self.document.written(path)
        is_word = "string" in wanted and written and error.instance is not None
        suggestion = f"write '{written}' in quotes" if is_word else None
        return Issue(path, f"{_name(path)} must be {kinds}, not {value_text(error.instance)}", suggestion)

    def _no_alternative(self, error: ValidationError, path: Path) -> Iterator[Issue]:
        context = error.context or []
        if not context:
            keys = dict.fromkeys(key for part in _rule(error) for key in part.get("required", ()))
            present = [key for key in keys if isinstance(error.instance, dict) and key in error.instance]
            if present:
                yield Issue(path, f"{_owner(path)} must have only one of {', '.join(present)}")
        elif all(inner.validator == "required" for inner in context):
            keys = dict.fromkeys(key for inner in context for key in _rule(inner))
            yield Issue(path, f"{_owner(path)} must have one of {', '.join(keys)}")
        else:
            deeper = [inner for inner in context if inner.validator != "required"]
            # An alternative of another type than the value is not the one that was meant.
            meant = [inner for inner in deeper if inner.validator != "type" or tuple(inner.absolute_path) != path]
            best = max(meant or deeper, key=relevance)
            where = tuple(best.absolute_path)
            if best.validator == "additionalProperties":
                yield from self._unknown_keys(best, where, beside=False)
            else:
                yield from self._violation(best, where)

    def _unknown_keys(self, error: ValidationError, path: Path, beside: bool) -> Iterator[Issue]:
        if not self.judges_keys or not isinstance(error.instance, dict):
            return
        allowed = _declared_keys(error.schema if isinstance(error.schema, dict) else {})
        unknown = [key for key in error.instance if key not in allowed]
        for key in unknown:
            suggestion = did_you_mean(nearest(key, allowed, 1)) or "what is not in the standard is a customProperty"
            yield Issue((*path, key), f"unknown key '{key}'", suggestion)
        if not unknown and not beside:
            misplaced = [key for key in error.instance if f"'{key}'" in error.message]
            for key in misplaced:
                yield Issue((*path, key), f"'{key}' does not fit the type of {_owner(path)}")


def _rule(error: ValidationError) -> Any:
    """What the keyword of the schema that is violated asks for."""
    return error.validator_value


def _not_listed(error: ValidationError, path: Path) -> Issue:
    values = [str(value) for value in _rule(error)]
    message = f"{_name(path)} must be one of {', '.join(values)}, not {value_text(error.instance)}"
    if len(values) > 12:
        message = f"{_name(path)} is not one of the standard's: {value_text(error.instance)}"
    return Issue(path, message, did_you_mean(nearest(str(error.instance), values, 1)))


def _declared_keys(schema: Mapping[str, Any]) -> frozenset[str]:
    """Every key that some part of the schema of a mapping speaks of."""
    keys: set[str] = set()
    for key, value in schema.items():
        if key == "properties":
            keys |= value.keys()
        elif key == "$ref":
            node: Any = _validator().schema
            for step in value.removeprefix("#/").split("/"):
                node = node[step]
            keys |= _declared_keys(node)
        elif key in ("allOf", "anyOf", "oneOf"):
            for part in value:
                keys |= _declared_keys(part)
        elif key in ("then", "else"):
            keys |= _declared_keys(value)
    return frozenset(keys)


def _name(path: Path) -> str:
    """The last key on the way to a value."""
    return next((f"'{step}'" for step in reversed(path) if isinstance(step, str)), "the contract")


_ITEMS = {
    "schema": "an object of the schema",
    "properties": "a property",
    "customProperties": "a custom property",
    "quality": "a quality rule",
    "servers": "a server",
}


def _owner(path: Path) -> str:
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    return _ITEMS.get(key, f"an item of '{key}'") if isinstance(path[-1], int) else f"'{key}'"


def _example(key: str) -> str | None:
    return f"write for example {key}: {_EXAMPLES[key]}" if key in _EXAMPLES else None
