"""Each message and field that a request can reach has a decision: what a newer PySpark adds fails here first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from pyspark.sql.connect.proto import base_pb2

from tidegate.python_models.connect.message_rules import PREFIX
from tidegate.python_models.connect.method_rules import REFUSED_METHODS, REQUESTS
from tidegate.python_models.connect.plan_check import RULES

ASKING = [getattr(base_pb2, name).DESCRIPTOR for name in REQUESTS.values()]


def reachable() -> Iterator[Any]:
    """Descriptors of what allowed fields can hold, from the requests that are answered."""
    waiting, seen = list(ASKING), set()
    while waiting:
        message = waiting.pop()
        if message.full_name in seen:
            continue
        seen.add(message.full_name)
        if message.GetOptions().map_entry:
            waiting += [field.message_type for field in message.fields if field.message_type is not None]
            continue
        yield message
        rule = RULES.get(message.full_name.removeprefix(PREFIX))
        allowed = rule.allowed if rule else ()
        waiting += [f.message_type for f in message.fields if f.message_type is not None and f.name in allowed]


def test_every_reachable_message_has_a_rule() -> None:
    assert [each.full_name for each in reachable() if each.full_name.removeprefix(PREFIX) not in RULES] == []


def test_every_field_is_allowed_or_refused_with_a_reason() -> None:
    for message in reachable():
        rule = RULES[message.full_name.removeprefix(PREFIX)]
        fields = {field.name for field in message.fields}
        assert rule.allowed | rule.refused.keys() == fields, message.full_name
        assert not rule.allowed & rule.refused.keys(), message.full_name
        assert all(rule.refused.values()), message.full_name


def test_no_rule_is_left_over() -> None:
    assert RULES.keys() == {message.full_name.removeprefix(PREFIX) for message in reachable()}


def test_no_reachable_message_holds_another_of_any_type() -> None:
    assert not [m.full_name for m in reachable() if m.full_name.startswith("google.")]


def test_every_method_is_answered_or_refused() -> None:
    methods = {method.name for method in base_pb2.DESCRIPTOR.services_by_name["SparkConnectService"].methods}
    assert methods == REQUESTS.keys() | REFUSED_METHODS.keys()
    assert not REQUESTS.keys() & REFUSED_METHODS.keys()


def test_a_refused_field_is_one_of_a_few_kinds() -> None:
    """A refused scalar is passed over where it is empty, so no refused one may mean something when it is empty."""
    presence = {
        f"{message.name}.{field.name}"
        for message in reachable()
        for field in message.fields
        if field.name in RULES[message.full_name.removeprefix(PREFIX)].refused
        and field.message_type is None
        and field.type in (FieldDescriptorProto.TYPE_ENUM, FieldDescriptorProto.TYPE_BYTES)
    }
    assert presence == set()
