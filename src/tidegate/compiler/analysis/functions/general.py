"""Functions that choose between values, cast them, hash them, or describe the session."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.compiler.analysis.coercion import can_cast, common_type_of, comparable
from tidegate.compiler.analysis.expressions.typed import Typed, any_null
from tidegate.compiler.analysis.functions.function import (
    ALWAYS,
    NEVER,
    UNSURE,
    Function,
    FunctionCall,
    define,
)
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
        return call.report_mismatch(f"{call.written_name} cannot compare {a} with {b}")
    return Typed(a, True)


def _either(call: FunctionCall) -> DataType | Typed:
    """nvl2(tested, value, other)."""
    types = call.types(1)
    merged = common_type_of(types)
    if merged is None:
        return call.report_mismatch(f"the values of {call.written_name} have no common type: {listed(types)}")
    return Typed(merged, any_null(call.args[1:], merged))


def _same(call: FunctionCall) -> DataType | Typed:
    a, b = call.type(0), call.type(1)
    if not comparable(a, b):
        return call.report_mismatch(f"{a} and {b} cannot be compared")
    return Typed(BOOLEAN, False)


def _cast_to(target: DataType) -> Callable[[FunctionCall], DataType | Typed]:
    def rule(call: FunctionCall) -> DataType | Typed:
        kind = call.type(0)
        if not can_cast(kind, target):
            return call.report_mismatch(f"{kind} cannot be cast to {target}")
        return Typed(target)

    return rule


def _ranks(call: FunctionCall) -> DataType:
    argument = call.type(1)
    return ANY if argument.kind == "?" else array(DOUBLE) if argument.kind == "array" else DOUBLE


def _quantiles(kind: DataType) -> Callable[[FunctionCall], DataType]:
    def rule(call: FunctionCall) -> DataType:
        argument = call.type(1)
        return ANY if argument.kind == "?" else array(kind) if argument.kind == "array" else kind

    return rule


def _kll(shape: str) -> str:
    return " ".join(shape.format(kind) for kind in ("bigint", "double", "float"))


GENERAL: list[Function] = [
    *define("coalesce", coalesced, 1, None),
    *define("ifnull nvl", coalesced, 2),
    *define("nullif", _null_if_equal, 2),
    *define("nvl2", _either, 3),
    *define("equal_null", _same, 2),
    *define("isnotnull isnull", BOOLEAN, 1, nulls=NEVER),
    *define("bigint", _cast_to(BIGINT), 1),
    *define("binary", _cast_to(BINARY), 1),
    *define("decimal", _cast_to(decimal(10, 0)), 1),
    *define("smallint", _cast_to(SMALLINT), 1),
    *define("tinyint", _cast_to(TINYINT), 1),
    *define("hash", INT, 1, None, nulls=NEVER, takes="H"),
    *define("xxhash64", BIGINT, 1, None, nulls=NEVER, takes="H"),
    *define("typeof", STRING, 1, nulls=NEVER),
    *define("collation", STRING, 1, nulls=NEVER),
    *define("collate", ANY, 2),
    *define("uuid", STRING, 0, 1, nulls=NEVER),
    *define("current_catalog current_database current_schema current_user session_user user", STRING, 0, nulls=NEVER),
    *define("version", STRING, 0, nulls=NEVER),
    *define("input_file_name", STRING, 0, nulls=NEVER),
    *define("input_file_block_length input_file_block_start", BIGINT, 0, nulls=NEVER),
    *define("monotonically_increasing_id", BIGINT, 0, nulls=NEVER),
    *define("spark_partition_id", INT, 0, nulls=NEVER),
    *define("assert_true", VOID, 1, 2, nulls=ALWAYS),
    *define("raise_error", VOID, 1, nulls=ALWAYS),
    *define("java_method reflect try_reflect", STRING, 2, None, nulls=ALWAYS),
    *define("hll_sketch_estimate theta_sketch_estimate", BIGINT, 1),
    *define("hll_union", BINARY, 2, 3),
    *define("theta_difference theta_intersection", BINARY, 2),
    *define("theta_union", BINARY, 2, 3),
    *define(_kll("kll_sketch_get_n_{}"), BIGINT, 1),
    *define(_kll("kll_sketch_get_rank_{}"), _ranks, 2),
    *define("kll_sketch_get_quantile_bigint", _quantiles(BIGINT), 2),
    *define("kll_sketch_get_quantile_double", _quantiles(DOUBLE), 2),
    *define("kll_sketch_get_quantile_float", _quantiles(DataType("float")), 2),
    *define(_kll("kll_sketch_merge_{}"), BINARY, 2),
    *define(_kll("kll_sketch_to_string_{}"), STRING, 1),
    *define("approx_top_k_estimate", ANY, 1, 2, nulls=UNSURE),
    *define("st_asbinary", BINARY, 1, nulls=UNSURE),
    *define("st_geogfromwkb st_geomfromwkb", ANY, 1, 2, nulls=UNSURE),
    *define("st_setsrid", ANY, 2, nulls=UNSURE),
    *define("st_srid", INT, 1, nulls=UNSURE),
]
