"""Functions over several rows: aggregates, window functions, and generators such as explode()."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.coercion import DAY_TO_SECOND, is_day_time, is_year_month
from tidegate.compiler.analysis.expressions.typed import Typed
from tidegate.compiler.analysis.functions.function import (
    AGGREGATE,
    ALWAYS,
    GENERATOR,
    NEVER,
    UNSURE,
    WINDOW,
    Function,
    FunctionCall,
    define,
)
from tidegate.compiler.analysis.functions.result_rules import list_of, listed, nth, number
from tidegate.datatypes import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    TINYINT,
    VARIANT,
    VOID,
    Column,
    DataType,
    array,
    decimal,
    struct,
)

__all__ = ["AGGREGATES", "GENERATORS", "OUTPUTS"]


_MOST_DIGITS = 38
_YEAR_TO_MONTH = DataType("interval year to month")


def _sum(call: FunctionCall) -> DataType | Typed:
    kind = number(call.type(0))
    if kind.is_integral:
        return BIGINT
    if kind.kind == "decimal":
        return decimal(min(kind.args[0] + 10, _MOST_DIGITS), kind.args[1])
    if kind.kind in ("float", "double"):
        return DOUBLE
    if is_day_time(kind) or is_year_month(kind) or kind.kind == "?":
        return kind
    return _not_summed(call)


def _average_of(index: int) -> Callable[[FunctionCall], DataType | Typed]:
    return lambda call: _average_type(call, call.type(index))


def _average(call: FunctionCall) -> DataType | Typed:
    return _average_type(call, call.type(0))


def _average_type(call: FunctionCall, kind: DataType) -> DataType | Typed:
    kind = number(kind)
    if kind.kind == "decimal":
        precision, scale = kind.args
        return decimal(min(precision + 4, _MOST_DIGITS), min(scale + 4, _MOST_DIGITS))
    if kind.is_numeric:
        return DOUBLE
    if is_year_month(kind):
        return _YEAR_TO_MONTH
    if is_day_time(kind):
        return DAY_TO_SECOND
    return kind if kind.kind == "?" else _not_summed(call)


def _not_summed(call: FunctionCall) -> DataType | Typed:
    kind = call.type(0)
    if kind.kind == "timestamp":
        return DOUBLE
    return call.report_mismatch(f"{call.written_name} takes numbers and intervals, not {kind}")


def _percentile(call: FunctionCall) -> DataType:
    """One value, or an array of them where the percentages are an array."""
    kind = call.type(0)
    if is_year_month(kind):
        result = _YEAR_TO_MONTH
    elif is_day_time(kind):
        result = DAY_TO_SECOND
    else:
        result = DOUBLE if kind.kind != "?" else ANY
    return _as_many(result, call.type(1))


def _as_many(kind: DataType, percentages: DataType) -> DataType:
    if percentages.kind == "?":
        return ANY
    return array(kind) if percentages.kind == "array" else kind


def _approx_percentile(call: FunctionCall) -> DataType | Typed:
    kind = number(call.type(0))
    if kind.kind == "?":
        return ANY
    if not (kind.is_numeric or kind.is_temporal or is_day_time(kind) or is_year_month(kind)):
        return call.report_mismatch(f"{call.written_name} takes numbers, dates, times and intervals, not {kind}")
    return _as_many(kind, call.type(1))


def _median(call: FunctionCall) -> DataType:
    kind = call.type(0)
    if is_year_month(kind):
        return _YEAR_TO_MONTH
    return DAY_TO_SECOND if is_day_time(kind) else DOUBLE if kind.kind != "?" else ANY


def _bits(call: FunctionCall) -> DataType:
    kind = call.type(0)
    return INT if kind.kind == "void" else kind


def _joined(call: FunctionCall) -> DataType:
    kind = call.type(0)
    if kind == BINARY:
        return BINARY
    return ANY if kind.kind == "?" else STRING


def _histogram(call: FunctionCall) -> DataType:
    kind = call.type(0)
    return array(struct((("x", number(kind)), ("y", DOUBLE)))) if kind.kind != "?" else ANY


def _top(call: FunctionCall) -> DataType:
    return array(struct((("item", call.type(0)), ("count", BIGINT))))


def _best(call: FunctionCall) -> DataType:
    return array(call.type(0)) if len(call.nodes) > 2 else call.type(0)


AGGREGATES: list[Function] = [
    *define("sum try_sum", _sum, 1, nulls=ALWAYS, kind=AGGREGATE),
    *define("avg mean try_avg", _average, 1, nulls=ALWAYS, kind=AGGREGATE),
    *define("count", BIGINT, 1, None, nulls=NEVER, kind=AGGREGATE),
    *define("count_if", BIGINT, 1, nulls=NEVER, kind=AGGREGATE, takes="b"),
    *define("regr_count", BIGINT, 2, nulls=NEVER, kind=AGGREGATE, takes="d"),
    *define("approx_count_distinct", BIGINT, 1, 2, nulls=NEVER, kind=AGGREGATE),
    *define("max min", nth(0), 1, nulls=ALWAYS, kind=AGGREGATE, takes="o"),
    *define("any_value first first_value last last_value", nth(0), 1, 2, nulls=ALWAYS, kind=AGGREGATE),
    *define("mode", nth(0), 0, 2, nulls=ALWAYS, kind=AGGREGATE),
    *define("max_by min_by", _best, 2, nulls=ALWAYS, kind=AGGREGATE, takes="*o"),
    *define("array_agg collect_list", list_of(0), 1, nulls=NEVER, kind=AGGREGATE),
    *define("collect_set", list_of(0), 1, nulls=NEVER, kind=AGGREGATE, takes="h"),
    *define("bool_and bool_or every some any", BOOLEAN, 1, nulls=ALWAYS, kind=AGGREGATE, takes="b"),
    *define("bit_and bit_or bit_xor", _bits, 1, nulls=ALWAYS, kind=AGGREGATE, takes="I"),
    *define("kurtosis skewness std stddev stddev_pop stddev_samp", DOUBLE, 1, nulls=ALWAYS, kind=AGGREGATE, takes="d"),
    *define("var_pop var_samp variance", DOUBLE, 1, nulls=ALWAYS, kind=AGGREGATE, takes="d"),
    *define("corr covar_pop covar_samp", DOUBLE, 2, nulls=ALWAYS, kind=AGGREGATE, takes="d"),
    *define("regr_avgx", _average_of(1), 2, nulls=ALWAYS, kind=AGGREGATE, takes="d"),
    *define("regr_avgy", _average_of(0), 2, nulls=ALWAYS, kind=AGGREGATE, takes="d"),
    *define("regr_intercept regr_r2 regr_slope", DOUBLE, 2, nulls=ALWAYS, kind=AGGREGATE, takes="d"),
    *define("regr_sxx regr_sxy regr_syy", DOUBLE, 2, nulls=ALWAYS, kind=AGGREGATE, takes="d"),
    *define("median", _median, 1, nulls=ALWAYS, kind=AGGREGATE, takes="g"),
    *define("percentile", _percentile, 2, 3, nulls=ALWAYS, kind=AGGREGATE, takes="g*"),
    *define("percentile_cont percentile_disc", _percentile, 1, nulls=ALWAYS, kind=AGGREGATE),
    *define("approx_percentile percentile_approx", _approx_percentile, 2, 3, nulls=ALWAYS, kind=AGGREGATE),
    *define("listagg string_agg", _joined, 1, 2, nulls=ALWAYS, kind=AGGREGATE, takes="s*"),
    *define("histogram_numeric", _histogram, 2, nulls=ALWAYS, kind=AGGREGATE),
    *define("count_min_sketch", BINARY, 4, nulls=NEVER, kind=AGGREGATE),
    *define("approx_top_k", _top, 1, 3, nulls=NEVER, kind=AGGREGATE),
    *define("approx_top_k_accumulate approx_top_k_combine", ANY, 1, 2, nulls=UNSURE, kind=AGGREGATE),
    *define("bitmap_and_agg bitmap_construct_agg bitmap_or_agg", BINARY, 1, nulls=NEVER, kind=AGGREGATE),
    *define("hll_sketch_agg hll_union_agg", BINARY, 1, 2, nulls=NEVER, kind=AGGREGATE),
    *define("theta_sketch_agg", BINARY, 1, 2, nulls=NEVER, kind=AGGREGATE),
    *define("theta_union_agg", BINARY, 1, 2, nulls=NEVER, kind=AGGREGATE),
    *define("theta_intersection_agg", BINARY, 1, nulls=NEVER, kind=AGGREGATE),
    *define("kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float", BINARY, 1, 2, NEVER, AGGREGATE),
    *define("kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float", BINARY, 1, 2, NEVER, AGGREGATE),
    *define("schema_of_variant_agg", STRING, 1, nulls=NEVER, kind=AGGREGATE),
    *define("grouping", TINYINT, 1, nulls=NEVER, kind=AGGREGATE),
    *define("grouping_id", BIGINT, 0, None, nulls=NEVER, kind=AGGREGATE),
    *define("row_number", INT, 0, nulls=NEVER, kind=WINDOW),
    *define("rank dense_rank", INT, 0, None, nulls=NEVER, kind=WINDOW),
    *define("ntile", INT, 0, 1, nulls=NEVER, kind=WINDOW),
    *define("cume_dist", DOUBLE, 0, nulls=NEVER, kind=WINDOW),
    *define("percent_rank", DOUBLE, 0, None, nulls=NEVER, kind=WINDOW),
    *define("lag lead", nth(0), 1, 4, nulls=UNSURE, kind=WINDOW),
    *define("nth_value", nth(0), 2, 3, nulls=ALWAYS, kind=WINDOW),
]


Output = Callable[[FunctionCall], tuple[Column, ...] | None]


def _exploded(outer: bool, position: bool) -> Output:
    def columns(call: FunctionCall) -> tuple[Column, ...] | None:
        kind = call.type(0)
        nullable = True if outer else None
        exploded: tuple[Column, ...]
        if kind.kind == "array":
            exploded = (Column("col", kind.args[0], nullable),)
        elif kind.kind == "map":
            exploded = (Column("key", kind.args[0], outer), Column("value", kind.args[1], nullable))
        else:
            return None
        return (Column("pos", INT, outer), *exploded) if position else exploded

    return columns


def _inlined(call: FunctionCall) -> tuple[Column, ...] | None:
    kind = call.type(0)
    element: DataType = kind.args[0] if kind.kind == "array" else ANY
    if element.kind != "struct":
        if element.kind != "?":
            call.report_mismatch(f"{call.written_name} takes an array of structs, not {kind}")
        return None
    nullable = True if call.name == "inline_outer" else None
    return tuple(Column(name, field, nullable) for name, field in element.args)


def _stacked(call: FunctionCall) -> tuple[Column, ...] | None:
    count: Any = call.nodes[0] if call.nodes else None
    if type(count) is not exp.Literal or count.is_string or not count.this.isdecimal() or int(count.this) == 0:
        return None
    values = call.args[1:]
    width = -(-len(values) // int(count.this))
    return tuple(Column(f"col{place}", _stacked_type(values[place::width], call), True) for place in range(width))


def _stacked_type(below: list[Typed], call: FunctionCall) -> DataType:
    """What is below each other has one type; only NULLs are cast."""
    types = {value.type for value in below if value.type.kind != "void"}
    if len(types) < 2:
        return types.pop() if types else VOID
    if all(kind.known for kind in types):
        call.report_mismatch(f"stack puts values of different types into one column: {listed(sorted(types, key=str))}")
    return ANY


def _json_fields(call: FunctionCall) -> tuple[Column, ...] | None:
    if any(type(node) is exp.Star for node in call.nodes):
        return None
    return tuple(Column(f"c{place}", STRING, True) for place in range(len(call.args) - 1))


def _fixed(*columns: Column) -> Output:
    return lambda call: columns


def _variant_parts(outer: bool) -> Output:
    return _fixed(Column("pos", INT, outer), Column("key", STRING, True), Column("value", VARIANT, outer))


_COLLATIONS = """
CATALOG SCHEMA NAME LANGUAGE? COUNTRY? ACCENT_SENSITIVITY CASE_SENSITIVITY PAD_ATTRIBUTE ICU_VERSION?
"""


OUTPUTS: dict[str, Output] = {
    "explode": _exploded(outer=False, position=False),
    "explode_outer": _exploded(outer=True, position=False),
    "posexplode": _exploded(outer=False, position=True),
    "posexplode_outer": _exploded(outer=True, position=True),
    "inline": _inlined,
    "inline_outer": _inlined,
    "stack": _stacked,
    "json_tuple": _json_fields,
    "variant_explode": _variant_parts(outer=False),
    "variant_explode_outer": _variant_parts(outer=True),
    "collations": _fixed(*(Column(name.rstrip("?"), STRING, "?" in name) for name in _COLLATIONS.split())),
    "range": _fixed(Column("id", BIGINT, False)),
    "sql_keywords": _fixed(Column("keyword", STRING, False), Column("reserved", BOOLEAN, False)),
}


def _alone(call: FunctionCall) -> DataType:
    """As a value: its only column."""
    output = OUTPUTS.get(call.name)
    columns: Any = output(call) if output is not None else None
    return columns[0].type if columns is not None and len(columns) == 1 else ANY


GENERATORS: list[Function] = [
    *define("explode explode_outer posexplode posexplode_outer", _alone, 1, 1, UNSURE, GENERATOR, takes="c"),
    *define("inline inline_outer", _alone, 1, 1, UNSURE, GENERATOR, takes="a"),
    *define("stack", _alone, 2, None, UNSURE, GENERATOR),
    *define("json_tuple", _alone, 2, None, UNSURE, GENERATOR, takes="T"),
    *define("variant_explode variant_explode_outer", _alone, 1, 1, UNSURE, GENERATOR, takes="v"),
    *define("range", ANY, 1, 4, UNSURE, GENERATOR),
    *define("collations python_worker_logs sql_keywords", ANY, 0, 0, UNSURE, GENERATOR),
]
