"""Functions that choose between values, cast them, hash them, or tell about the session."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.compiler.analysis.coercion import can_cast, common_type_of, comparable
from tidegate.compiler.analysis.expressions.typed import Typed, any_null
from tidegate.compiler.analysis.functions.function import ALWAYS, NEVER, UNSURE, Function, FunctionCall, of
from tidegate.compiler.analysis.functions.result_rules import coalesced, listed
from tidegate.datatypes import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    VOID,
    DataType,
    array,
    decimal,
)

__all__ = ["GENERAL"]


def _null_if_equal(call: FunctionCall) -> Typed:
    a, b = call.type(0), call.type(1)
    if not comparable(a, b):
        return call.refuse(f"{call.shown} cannot compare {a} with {b}")
    return Typed(a, True)


def _either(call: FunctionCall) -> DataType | Typed:
    """nvl2(tested, value, other)."""
    types = call.types(1)
    merged = common_type_of(types)
    if merged is None:
        return call.refuse(f"the values of {call.shown} have no common type: {listed(types)}")
    return Typed(merged, any_null(call.args[1:], merged))


def _same(call: FunctionCall) -> DataType | Typed:
    a, b = call.type(0), call.type(1)
    if not comparable(a, b):
        return call.refuse(f"{a} and {b} cannot be compared")
    return Typed(BOOLEAN, False)


def _cast_to(target: DataType) -> Callable[[FunctionCall], DataType | Typed]:
    def rule(call: FunctionCall) -> DataType | Typed:
        kind = call.type(0)
        if not can_cast(kind, target):
            return call.refuse(f"{kind} cannot be cast to {target}")
        return Typed(target)

    return rule


def _ranks(call: FunctionCall) -> DataType:
    asked = call.type(1)
    return ANY if asked.kind == "?" else array(DOUBLE) if asked.kind == "array" else DOUBLE


def _quantiles(kind: DataType) -> Callable[[FunctionCall], DataType]:
    def rule(call: FunctionCall) -> DataType:
        asked = call.type(1)
        return ANY if asked.kind == "?" else array(kind) if asked.kind == "array" else kind

    return rule


def _kll(shape: str) -> str:
    return " ".join(shape.format(kind) for kind in ("bigint", "double", "float"))


GENERAL: list[Function] = [
    *of("coalesce", coalesced, 1, None),
    *of("ifnull nvl", coalesced, 2),
    *of("nullif", _null_if_equal, 2),
    *of("nvl2", _either, 3),
    *of("equal_null", _same, 2),
    *of("isnotnull isnull", BOOLEAN, 1, nulls=NEVER),
    *of("bigint", _cast_to(BIGINT), 1),
    *of("binary", _cast_to(BINARY), 1),
    *of("decimal", _cast_to(decimal(10, 0)), 1),
    *of("smallint", _cast_to(SMALLINT), 1),
    *of("tinyint", _cast_to(TINYINT), 1),
    *of("hash", INT, 1, None, nulls=NEVER, takes="H"),
    *of("xxhash64", BIGINT, 1, None, nulls=NEVER, takes="H"),
    *of("typeof", STRING, 1, nulls=NEVER),
    *of("collation", STRING, 1, nulls=NEVER),
    *of("collate", ANY, 2),
    *of("uuid", STRING, 0, 1, nulls=NEVER),
    *of("current_catalog current_database current_schema current_user session_user user", STRING, 0, nulls=NEVER),
    *of("version", STRING, 0, nulls=NEVER),
    *of("input_file_name", STRING, 0, nulls=NEVER),
    *of("input_file_block_length input_file_block_start", BIGINT, 0, nulls=NEVER),
    *of("monotonically_increasing_id", BIGINT, 0, nulls=NEVER),
    *of("spark_partition_id", INT, 0, nulls=NEVER),
    *of("assert_true", VOID, 1, 2, nulls=ALWAYS),
    *of("raise_error", VOID, 1, nulls=ALWAYS),
    *of("java_method reflect try_reflect", STRING, 2, None, nulls=ALWAYS),
    *of("hll_sketch_estimate theta_sketch_estimate", BIGINT, 1),
    *of("hll_union", BINARY, 2, 3),
    *of("theta_difference theta_intersection", BINARY, 2),
    *of("theta_union", BINARY, 2, 3),
    *of(_kll("kll_sketch_get_n_{}"), BIGINT, 1),
    *of(_kll("kll_sketch_get_rank_{}"), _ranks, 2),
    *of("kll_sketch_get_quantile_bigint", _quantiles(BIGINT), 2),
    *of("kll_sketch_get_quantile_double", _quantiles(DOUBLE), 2),
    *of("kll_sketch_get_quantile_float", _quantiles(DataType("float")), 2),
    *of(_kll("kll_sketch_merge_{}"), BINARY, 2),
    *of(_kll("kll_sketch_to_string_{}"), STRING, 1),
    *of("approx_top_k_estimate", ANY, 1, 2, nulls=UNSURE),
    *of("st_asbinary", BINARY, 1, nulls=UNSURE),
    *of("st_geogfromwkb st_geomfromwkb", ANY, 1, 2, nulls=UNSURE),
    *of("st_setsrid", ANY, 2, nulls=UNSURE),
    *of("st_srid", INT, 1, nulls=UNSURE),
]
