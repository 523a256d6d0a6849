"""A pydantic model as columns and rules that Spark holds all rows to at once.

| of the model | |
|---|---|
| a type | the type of the column; a model inside is a struct, `list[X]` an array, `dict[str, X]` a map |
| `Optional`, `X \\| None` | may be NULL; every other field is required |
| a default | for NULL, which is also what a missing value is |
| `ge`, `gt`, `le`, `lt`, `multiple_of`, `min_length`, `max_length`, `pattern`, `max_digits`, `decimal_places` | rules |
| `Literal`, `Enum` | the values that are allowed |
| `alias`, `validation_alias` | the name that the value is delivered under |

Validators and whatever else only Python could evaluate are refused, all at once.
"""

from __future__ import annotations

import enum
import importlib
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin
from uuid import UUID

from annotated_types import Ge, Gt, Le, Len, Lt, MaxLen, MinLen, MultipleOf
from pydantic import AliasPath, BaseModel, Strict
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tidegate.chunks.rules.source_rules import ChunkRules
from tidegate.contracts.column_constraints import constant
from tidegate.contracts.ingestion import SilverColumn, SilverRules
from tidegate.datatypes import DataType, parse_type
from tidegate.errors import ConfigError
from tidegate.names import literal, quote
from tidegate.sql_literals import require_pattern

__all__ = ["model_rules"]

_SCALARS: Mapping[Any, str] = {
    str: "string",
    bool: "boolean",
    int: "bigint",
    float: "double",
    date: "date",
    datetime: "timestamp",
    bytes: "binary",
    UUID: "string",
    Any: "string",
    dict: "string",
    list: "string",
}
_HTTP = {"format": "uri", "pattern": "^(?i:https?)://"}
_FORMATS: Mapping[str, Mapping[str, str]] = {
    "EmailStr": {"format": "email"},
    "AnyUrl": {"format": "uri"},
    "AnyHttpUrl": _HTTP,
    "HttpUrl": _HTTP,
}
_TIMES: Mapping[str, str] = {"AwareDatetime": "timestamp", "NaiveDatetime": "timestamp_ntz"}
_BOUNDS = {Ge: ("minimum", "ge"), Gt: ("exclusiveMinimum", "gt"), Le: ("maximum", "le"), Lt: ("exclusiveMaximum", "lt")}
_HARMLESS = frozenset({"fail_fast", "union_mode", "coerce_numbers_to_str"})
"""Settings of a field that ask nothing of a delivered text."""


class _Untranslatable(Exception):
    """The message follows the name of a field."""


@dataclass(slots=True)
class _Facts:
    """What is known of a value, from its annotation and what stands beside it."""

    options: dict[str, Any] = field(default_factory=dict)
    length: dict[str, int] = field(default_factory=dict)
    """`min` and `max`."""

    digits: int | None = None
    places: int | None = None


def model_rules(root: Path, name: str, source: str) -> ChunkRules:
    """`name`: `module:Class`, imported with the project's folder on the path. Raises ConfigError."""
    model = _imported(root, name)
    problems = list(_problems_of(model, name.partition(":")[2]))
    columns = []
    for field_name, info in model.model_fields.items():
        try:
            columns.append(_column(field_name, info))
        except _Untranslatable as error:
            problems.append(f"{name}.{field_name}: {error}")
    if problems:
        raise ConfigError(
            f"the model {name} has rules that cannot be held for all rows at once",
            problems=problems,
            where=f"[chunks.sources.{source}]",
            remedy="Express these as types and constraints of fields, or write an ODCS contract.",
        )
    rules = SilverRules(name=source, table=source, columns=tuple(columns), key=(), strategy="append", null_values=())
    return ChunkRules(name, "", rules, key=())


def _imported(root: Path, name: str) -> type[BaseModel]:
    module_name, _, class_name = name.partition(":")
    _prefer_project(root, module_name)
    where = f"the model {name}"
    try:
        found: Any = importlib.import_module(module_name)
        for part in class_name.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        remedy = "name a module of the project's folder or one that is installed, as in 'shop.orders:Order'"
        raise ConfigError(f"{where} cannot be imported: {error}", where=str(root), remedy=remedy) from None
    except AttributeError:
        raise ConfigError(
            f"{where} is not there: {module_name} has no {class_name}", where=str(root), remedy="correct its name"
        ) from None
    except Exception as error:
        remedy = "install what it needs" if isinstance(error, ImportError) else "correct its module"
        raise ConfigError(
            f"{where} cannot be imported: {type(error).__name__}: {error}", where=str(root), remedy=remedy
        ) from None
    if not (isinstance(found, type) and issubclass(found, BaseModel)):
        raise ConfigError(f"{where} is no pydantic model", where=str(root), remedy="name a subclass of BaseModel")
    return found


def _prefer_project(root: Path, module_name: str) -> None:
    """A process that works on several projects may have imported a module of this name from another one."""
    sys.path[:] = [str(root), *(path for path in sys.path if path != str(root))]
    own = root.joinpath(*module_name.split(".")).with_suffix(".py")
    known = sys.modules.get(module_name)
    if own.is_file() and known is not None and getattr(known, "__file__", None) != str(own):
        del sys.modules[module_name]


def _problems_of(model: type[BaseModel], path: str) -> Iterator[str]:
    """What the model asks for beside its fields."""
    decorators = model.__pydantic_decorators__
    for kind, found in (
        ("field_validator", {**decorators.field_validators, **decorators.validators}),
        ("model_validator", {**decorators.model_validators, **decorators.root_validators}),
        ("computed_field", decorators.computed_fields),
    ):
        for method in found:
            yield f"{path}.{method}: a {kind} is Python, which is not called for each row"
    config = model.model_config
    for setting in ("str_strip_whitespace", "str_to_lower", "str_to_upper"):
        if config.get(setting):
            yield f"{path}: {setting} changes values, which is not done"
    if config.get("extra") == "forbid":
        yield f"{path}: extra='forbid' is not held; columns that the model lacks are left out"
    if model.__pydantic_root_model__:
        yield f"{path}: a RootModel has no columns"


def _column(name: str, info: FieldInfo) -> SilverColumn:
    if name.startswith("_"):
        raise _Untranslatable("a name that begins with '_' is kept for columns that are added")
    column = _value(name, info.annotation, info.metadata)
    column = replace(column, origin=_origin(name, info))
    if info.default_factory is not None:
        raise _Untranslatable("a default_factory is Python, which is not called for each row")
    default = info.default
    if default is None:  # it is not validated, so the column may be NULL whatever its type says
        return replace(column, required=False)
    if default is PydanticUndefined or default is ...:
        return column
    text = _default_text(default)
    return replace(column, transform=f"coalesce({quote(name)}, {literal(text)})")


def _origin(name: str, info: FieldInfo) -> tuple[str, ...]:
    alias = info.validation_alias if info.validation_alias is not None else info.alias
    if alias is None:
        return (name,)
    if isinstance(alias, str):
        return (alias,)
    if isinstance(alias, AliasPath) and isinstance(alias.path[0], str):
        return tuple(map(str, alias.path))
    raise _Untranslatable("a choice of several aliases is not followed")


def _default_text(default: Any) -> str:
    if isinstance(default, enum.Enum):
        default = default.value
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, datetime | date):
        return default.isoformat()
    if isinstance(default, str | int | float | Decimal | UUID):
        return str(default)
    raise _Untranslatable(f"the default {default!r} is not one value; None may be one, with `| None`")


def _value(name: str, annotation: Any, metadata: typing.Sequence[Any] = ()) -> SilverColumn:
    """A column, or what is inside one."""
    is_optional, annotation, own = _unwrapped(annotation)
    facts = _facts([*own, *metadata])
    column = _typed(name, annotation, facts)
    kind = parse_type(column.type)
    assert kind is not None
    _give_length(facts, kind)
    _require_fitting(facts, kind)
    options = {**column.options, **facts.options}
    return replace(column, required=not is_optional, options=options)


def _unwrapped(annotation: Any) -> tuple[bool, Any, list[Any]]:
    """Whether it may be None, the type that is left, and what `Annotated` says of it."""
    metadata: list[Any] = []
    is_optional = annotation is Any
    while True:
        origin = get_origin(annotation)
        if origin is typing.Annotated:
            annotation, *own = get_args(annotation)
            metadata += own
        elif origin in (Union, types.UnionType):
            members = [member for member in get_args(annotation) if member is not type(None)]
            if len(members) != 1 or len(members) == len(get_args(annotation)):
                raise _Untranslatable(f"a union of several types ({_shown(annotation)}) is no type of a column")
            annotation, is_optional = members[0], True
        else:
            return is_optional, annotation, metadata


def _typed(name: str, annotation: Any, facts: _Facts) -> SilverColumn:
    origin, arguments = get_origin(annotation), get_args(annotation)
    short = getattr(annotation, "__name__", "")
    if origin is Literal:
        return _choices(name, arguments)
    if origin in (list, tuple) and arguments and (origin is list or arguments[1:] == (...,)):
        item = _value(name, arguments[0])
        return SilverColumn(name, f"array<{_kind(item).sql}>", logical_type="array", items=item)
    if origin is dict and arguments[:1] == (str,):
        item = _value(name, arguments[1])
        return SilverColumn(name, f"map<string,{_kind(item).sql}>")
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _struct(name, annotation)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return _choices(name, tuple(member.value for member in annotation))
    if annotation is Decimal:
        places = facts.places if facts.places is not None else min(10, (facts.digits or 38) - 1)
        digits = facts.digits or 38
        return SilverColumn(name, f"decimal({min(digits, 38)},{places})")
    if short in _TIMES:
        return SilverColumn(name, _TIMES[short])
    if short in _FORMATS and str(getattr(annotation, "__module__", "")).startswith("pydantic"):
        return SilverColumn(name, "string", logical_type="string", options=_FORMATS[short])
    if annotation is UUID:
        return SilverColumn(name, "string", logical_type="string", options={"format": "uuid"})
    kind = _SCALARS.get(annotation)
    if kind is None:
        raise _Untranslatable(f"the type {_shown(annotation)} is no type of a column")
    return SilverColumn(name, kind, logical_type="object" if annotation is dict else None)


def _choices(name: str, values: tuple[Any, ...]) -> SilverColumn:
    kinds = {type(value) for value in values if value is not None}
    values = tuple(value for value in values if value is not None)
    if kinds == {str}:
        return SilverColumn(name, "string", allowed=values)
    if kinds == {int}:
        return SilverColumn(name, "bigint", allowed=values)
    if kinds == {bool}:
        return SilverColumn(name, "boolean", allowed=values)
    raise _Untranslatable(f"its values are neither all texts nor all whole numbers: {', '.join(map(repr, values))}")


def _struct(name: str, model: type[BaseModel]) -> SilverColumn:
    problems = list(_problems_of(model, model.__name__))
    if problems:
        raise _Untranslatable("; ".join(problems))
    parts = []
    for inner, info in model.model_fields.items():
        part = _column(inner, info)
        if part.transform is not None:
            raise _Untranslatable(f"the default of {model.__name__}.{inner}, which is inside a column, is not applied")
        if part.origin != (inner,):
            raise _Untranslatable(f"the alias of {model.__name__}.{inner}, which is inside a column, is not followed")
        parts.append(replace(part, origin=()))
    fields = ",".join(f"{quote(part.name)}:{_kind(part).sql}" for part in parts)
    return SilverColumn(name, f"struct<{fields}>", logical_type="object", parts=tuple(parts))


def _kind(column: SilverColumn) -> DataType:
    kind = parse_type(column.type)
    assert kind is not None
    return kind


def _facts(metadata: list[Any]) -> _Facts:
    facts = _Facts()
    for entry in metadata:
        for single in entry if hasattr(entry, "__iter__") and not isinstance(entry, str) else (entry,):
            _note(facts, single)
    return facts


def _note(facts: _Facts, entry: Any) -> None:
    if type(entry) in _BOUNDS:
        option, attribute = _BOUNDS[type(entry)]
        facts.options[option] = _bound(getattr(entry, attribute))
    elif isinstance(entry, MultipleOf):
        facts.options["multipleOf"] = entry.multiple_of
    elif isinstance(entry, MinLen):
        facts.length["min"] = entry.min_length
    elif isinstance(entry, MaxLen):
        facts.length["max"] = entry.max_length
    elif isinstance(entry, Len):
        facts.length["min"] = entry.min_length
        if entry.max_length is not None:
            facts.length["max"] = entry.max_length
    elif type(entry).__name__ in ("PydanticGeneralMetadata", "_PydanticGeneralMetadata", "StringConstraints"):
        _note_general(facts, {name: value for name, value in vars(entry).items() if value is not None})
    elif isinstance(entry, FieldInfo):
        for own in entry.metadata:
            _note(facts, own)
    elif isinstance(entry, Strict):
        if entry.strict:
            raise _Untranslatable("strict=True is not held: every value is delivered as text")
    elif entry is not None and not isinstance(entry, str):
        raise _Untranslatable(f"{type(entry).__name__} is Python, which is not called for each row")


def _note_general(facts: _Facts, settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        if name == "pattern":
            facts.options["pattern"] = getattr(value, "pattern", value)
            try:
                require_pattern(str(facts.options["pattern"]))
            except ValueError as error:
                raise _Untranslatable(f"its pattern cannot be used: {error}") from None
        elif name == "max_digits":
            facts.digits = value
        elif name == "decimal_places":
            facts.places = value
        elif name == "min_length":
            facts.length["min"] = value
        elif name == "max_length":
            facts.length["max"] = value
        elif name not in _HARMLESS and value is not False:
            raise _Untranslatable(f"{name}={value!r} is not held")


def _give_length(facts: _Facts, kind: DataType) -> None:
    ends = {"array": ("minItems", "maxItems"), "map": ("minProperties", "maxProperties")}
    least, most = ends.get(kind.kind, ("minLength", "maxLength"))
    for end, option in (("min", least), ("max", most)):
        if end in facts.length:
            facts.options[option] = facts.length[end]


def _require_fitting(facts: _Facts, kind: DataType) -> None:
    for option, value in facts.options.items():
        if option in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
            try:
                constant(value, kind)
            except ValueError as error:
                raise _Untranslatable(f"{option} {value} does not fit {kind}: {error}") from None


def _bound(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value


def _shown(annotation: Any) -> str:
    return getattr(annotation, "__name__", None) if isinstance(annotation, type) else str(annotation)  # type: ignore[return-value]
