"""Plans of a sandboxed model: every message compared with the lists, and names replaced by what they are granted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet
from pyspark.sql.connect.proto import relations_pb2

from tidegate.python_models.connect.command_rules import COMMAND_RULES
from tidegate.python_models.connect.expression_rules import EXPRESSION_RULES
from tidegate.python_models.connect.granted_views import GrantedViews, qualified
from tidegate.python_models.connect.message_rules import NOT_KNOWN, PREFIX, MessageRule
from tidegate.python_models.connect.message_values import MessageValues
from tidegate.python_models.connect.method_rules import METHOD_RULES
from tidegate.python_models.connect.plan_functions import refusal
from tidegate.python_models.connect.relation_rules import RELATION_RULES

__all__ = ["RULES", "PlanCheck"]

RULES: Mapping[str, MessageRule] = {**METHOD_RULES, **COMMAND_RULES, **RELATION_RULES, **EXPRESSION_RULES}

_FRAME_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NO_FRAMES: frozenset[str] = frozenset()


class PlanCheck:
    """`wanted`: raises once nobody waits for the answer: a plan may be made to take long."""

    def __init__(self, views: GrantedViews, values: MessageValues, wanted: Callable[[], None] = lambda: None) -> None:
        self._views = views
        self._values = values
        self._wanted = wanted

    def check(self, message: Any) -> None:
        """Change the message into what may be sent to Spark. Raises CallRefusedError."""
        self._values.begin_plan()
        waiting = [(message, _NO_FRAMES)]
        while waiting:
            self._wanted()
            waiting += self._inside(*waiting.pop())

    def _inside(self, message: Any, frames: frozenset[str]) -> list[tuple[Any, frozenset[str]]]:
        """The messages inside one that is allowed, each with the names of DataFrames that its SQL may use."""
        inner = _fields(message)
        name = message.DESCRIPTOR.full_name.removeprefix(PREFIX)
        if name == "Relation":
            if message.WhichOneof("rel_type") is None:
                raise refusal("a relation of the plan is empty")
            if message.WhichOneof("rel_type") == "read":
                self._bind_read(message)
                return [(message.common, _NO_FRAMES)] if message.HasField("common") else []
            return [(each, frames) for each in inner]
        if name == "WithRelations":
            if not message.HasField("root"):
                raise refusal("a relation of the plan is empty")
            return [(message.root, _frames(message)), *((each, _NO_FRAMES) for each in message.references)]
        if check := self._values.checks.get(name):
            check(message, frames)
        return [(each, _NO_FRAMES) for each in inner]

    def _bind_read(self, relation: Any) -> None:
        """A read of a handle becomes a read of its view, which is visible by the last part of the table's name."""
        for message in _fields(relation.read):
            _fields(message)
        if relation.read.WhichOneof("read_type") != "named_table":
            raise refusal("a read of the plan names no table")
        view, visible = self._views.view(relation.read.named_table.unparsed_identifier)
        read = relations_pb2.Relation()
        read.read.named_table.unparsed_identifier = qualified(view)
        relation.subquery_alias.input.CopyFrom(read)
        relation.subquery_alias.alias = visible


def _fields(message: Any) -> list[Any]:
    """The messages in the fields of one, all of which are allowed."""
    name = message.DESCRIPTOR.full_name.removeprefix(PREFIX)
    rule = RULES.get(name)
    if rule is None:
        raise refusal(f"{name}: {NOT_KNOWN}")
    if len(UnknownFieldSet(message)):
        raise refusal(f"{name} has a field that this version of Spark does not know")
    inner: list[Any] = []
    for field, value in message.ListFields():
        if field.name not in rule.allowed:
            if field.message_type is None and not value:
                continue  # it says what is so without it
            raise refusal(f"{field.name.replace('_', ' ')}: {rule.refused.get(field.name, NOT_KNOWN)}")
        if field.enum_type is not None:
            _check_enum(field, value if field.is_repeated else [value])
        elif field.message_type is not None:
            inner += _messages(field, value)
    return inner


def _check_enum(field: Any, values: Iterable[int]) -> None:
    if any(value not in field.enum_type.values_by_number for value in values):
        raise refusal(f"{field.name.replace('_', ' ')}: {NOT_KNOWN}")


def _messages(field: Any, value: Any) -> Iterator[Any]:
    if not field.is_repeated:
        yield value
    elif not field.message_type.GetOptions().map_entry:
        yield from value
    elif field.message_type.fields_by_name["value"].message_type is not None:
        yield from value.values()


def _frames(message: Any) -> frozenset[str]:
    """The names of the DataFrames that come with a query as SQL."""
    if message.root.WhichOneof("rel_type") != "sql":
        return _NO_FRAMES
    names = [each.subquery_alias.alias for each in message.references]
    if any(not _FRAME_NAME.fullmatch(name) for name in names):
        raise refusal("a DataFrame that comes with SQL has no plain name")
    return frozenset(name.lower() for name in names)
