"""The parser's own classes for functions, and which function of Spark each of them is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

__all__ = ["CLASSES", "flat"]

Taken = Callable[[Any], list[Any]]


def flat(*keys: str) -> Taken:
    """The arguments under these keys, in Spark's order; lists among them are spread."""

    def take(node: Any) -> list[Any]:
        args = node.args
        nodes: list[Any] = []
        for key in keys:
            value = args.get(key)
            if value is None:
                continue
            if isinstance(value, list):
                nodes += value
            else:
                nodes.append(value)
        return nodes

    return take


_ONE = flat("this")
_TWO = flat("this", "expression")
_MANY = flat("expressions")
_FIRST_AND_MANY = flat("this", "expressions")


def _inside(node: Any) -> list[Any]:
    """The parser wraps some arguments in a conversion that Spark does not have."""
    inner = node.this
    return [inner.this] if type(inner) in (exp.TsOrDsToDate, exp.TimeStrToTime) and inner.this is not None else [inner]


def _unwrapped_cast(node: Any) -> list[Any]:
    inner = node.this
    return [inner.this if type(inner) is exp.Cast else inner, node.args.get("zone")]


def _moved_days(node: Any) -> list[Any]:
    """date_sub() is written as date_add() of the days times -1."""
    days = node.expression
    if type(days) is exp.Mul and type(days.expression) is exp.Neg and not days.expression.this.meta:
        days = days.this
    return [node.this, days]


def _classes() -> dict[type, tuple[str, Taken]]:
    one = {
        exp.Abs: "abs",
        exp.Acos: "acos",
        exp.Acosh: "acosh",
        exp.AnyValue: "any_value",
        exp.ApproxDistinct: "approx_count_distinct",
        exp.ArrayAgg: "collect_list",
        exp.ArrayCompact: "array_compact",
        exp.ArrayDistinct: "array_distinct",
        exp.ArrayMax: "array_max",
        exp.ArrayMin: "array_min",
        exp.ArraySize: "size",
        exp.ArrayUniqueAgg: "collect_set",
        exp.Ascii: "ascii",
        exp.Asin: "asin",
        exp.Asinh: "asinh",
        exp.Atan: "atan",
        exp.Atanh: "atanh",
        exp.Avg: "avg",
        exp.BitLength: "bit_length",
        exp.BitmapBitPosition: "bitmap_bit_position",
        exp.BitmapBucketNumber: "bitmap_bucket_number",
        exp.BitmapConstructAgg: "bitmap_construct_agg",
        exp.BitmapCount: "bitmap_count",
        exp.BitmapOrAgg: "bitmap_or_agg",
        exp.BitwiseAndAgg: "bit_and",
        exp.BitwiseCount: "bit_count",
        exp.BitwiseOrAgg: "bit_or",
        exp.BitwiseXorAgg: "bit_xor",
        exp.Cbrt: "cbrt",
        exp.Collation: "collation",
        exp.Cos: "cos",
        exp.Cosh: "cosh",
        exp.Cot: "cot",
        exp.CountIf: "count_if",
        exp.Csc: "csc",
        exp.CurrentCatalog: "current_catalog",
        exp.CurrentDatabase: "current_database",
        exp.CurrentDate: "current_date",
        exp.CurrentSchema: "current_schema",
        exp.CurrentTime: "current_time",
        exp.CurrentTimestamp: "current_timestamp",
        exp.CurrentTimezone: "current_timezone",
        exp.CurrentUser: "current_user",
        exp.DateFromUnixDate: "date_from_unix_date",
        exp.Dayname: "dayname",
        exp.Degrees: "degrees",
        exp.Exp: "exp",
        exp.Explode: "explode",
        exp.ExplodeOuter: "explode_outer",
        exp._ExplodeOuter: "explode_outer",
        exp.Factorial: "factorial",
        exp.First: "first",
        exp.FirstValue: "first_value",
        exp.Flatten: "flatten",
        exp.FromBase64: "unbase64",
        exp.Hex: "hex",
        exp.Hour: "hour",
        exp.Initcap: "initcap",
        exp.Inline: "inline",
        exp.IsNan: "isnan",
        exp.JSONKeys: "json_object_keys",
        exp.Kurtosis: "kurtosis",
        exp.Last: "last",
        exp.LastDay: "last_day",
        exp.LastValue: "last_value",
        exp.Length: "length",
        exp.Ln: "ln",
        exp.Localtimestamp: "localtimestamp",
        exp.LogicalAnd: "bool_and",
        exp.LogicalOr: "bool_or",
        exp.Lower: "lower",
        exp.MapFromEntries: "map_from_entries",
        exp.MapKeys: "map_keys",
        exp.MD5: "md5",
        exp.Median: "median",
        exp.Minute: "minute",
        exp.Mode: "mode",
        exp.Monthname: "monthname",
        exp.Negative: "negative",
        exp.Ntile: "ntile",
        exp.ParseJSON: "parse_json",
        exp.Pi: "pi",
        exp.Posexplode: "posexplode",
        exp.PosexplodeOuter: "posexplode_outer",
        exp.Quarter: "quarter",
        exp.Radians: "radians",
        exp.Rand: "rand",
        exp.Randn: "randn",
        exp.Randstr: "randstr",
        exp.Reverse: "reverse",
        exp.Rint: "rint",
        exp.RowNumber: "row_number",
        exp.Sec: "sec",
        exp.Second: "second",
        exp.SessionUser: "session_user",
        exp.SHA: "sha1",
        exp.Shuffle: "shuffle",
        exp.Sign: "sign",
        exp.Sin: "sin",
        exp.Sinh: "sinh",
        exp.Skewness: "skewness",
        exp.Soundex: "soundex",
        exp.Space: "space",
        exp.Sqrt: "sqrt",
        exp.Stddev: "stddev",
        exp.StddevPop: "stddev_pop",
        exp.StddevSamp: "stddev_samp",
        exp.Sum: "sum",
        exp.Tan: "tan",
        exp.Tanh: "tanh",
        exp.ToBase64: "base64",
        exp.Typeof: "typeof",
        exp.Unhex: "unhex",
        exp.UnixDate: "unix_date",
        exp.UnixMicros: "unix_micros",
        exp.UnixMillis: "unix_millis",
        exp.UnixSeconds: "unix_seconds",
        exp.Upper: "upper",
        exp.Uuid: "uuid",
        exp.Variance: "var_samp",
        exp.VariancePop: "var_pop",
    }
    two = {
        exp.AddMonths: "add_months",
        exp.ApproxTopK: "approx_top_k",
        exp.ApproxTopKAccumulate: "approx_top_k_accumulate",
        exp.ApproxTopKCombine: "approx_top_k_combine",
        exp.ApproxTopKEstimate: "approx_top_k_estimate",
        exp.ArrayAppend: "array_append",
        exp.ArrayContains: "array_contains",
        exp.ArrayExcept: "array_except",
        exp.ArrayFilter: "filter",
        exp.ArrayPosition: "array_position",
        exp.ArrayPrepend: "array_prepend",
        exp.ArrayRemove: "array_remove",
        exp.Atan2: "atan2",
        exp.Contains: "contains",
        exp.Corr: "corr",
        exp.CovarPop: "covar_pop",
        exp.CovarSamp: "covar_samp",
        exp.EndsWith: "endswith",
        exp.EqualNull: "equal_null",
        exp.FromJson: "from_json",
        exp.Getbit: "bit_get",
        exp.JSONExtractScalar: "get_json_object",
        exp.Left: "left",
        exp.Levenshtein: "levenshtein",
        exp.Log: "log",
        exp.Nanvl: "nanvl",
        exp.NextDay: "next_day",
        exp.Nullif: "nullif",
        exp.PercentileCont: "percentile_cont",
        exp.PercentileDisc: "percentile_disc",
        exp.Pow: "pow",
        exp.RegexpCount: "regexp_count",
        exp.RegexpSubstr: "regexp_substr",
        exp.RegrAvgx: "regr_avgx",
        exp.RegrAvgy: "regr_avgy",
        exp.RegrCount: "regr_count",
        exp.RegrIntercept: "regr_intercept",
        exp.RegrR2: "regr_r2",
        exp.RegrSlope: "regr_slope",
        exp.RegrSxx: "regr_sxx",
        exp.RegrSxy: "regr_sxy",
        exp.RegrSyy: "regr_syy",
        exp.Right: "right",
        exp.SafeAdd: "try_add",
        exp.SafeDivide: "try_divide",
        exp.SafeMultiply: "try_multiply",
        exp.SafeSubtract: "try_subtract",
        exp.StartsWith: "startswith",
        exp.Transform: "transform",
        exp.Uniform: "uniform",
    }
    other: dict[type, tuple[str, Taken]] = {
        exp.ApproxQuantile: ("percentile_approx", flat("this", "quantile", "accuracy")),
        exp.ArgMax: ("max_by", flat("this", "expression", "count")),
        exp.ArgMin: ("min_by", flat("this", "expression", "count")),
        exp.ArrayInsert: ("array_insert", flat("this", "position", "expression")),
        exp.ArrayIntersect: ("array_intersect", _MANY),
        exp.ArraySlice: ("slice", flat("this", "start", "end")),
        exp.ArraySort: ("array_sort", flat("this", "expression", "asc")),
        exp.ArrayToString: ("array_join", flat("this", "expression", "null")),
        exp.ArraysZip: ("arrays_zip", _MANY),
        exp.AtTimeZone: ("from_utc_timestamp", _unwrapped_cast),
        exp.Ceil: ("ceil", flat("this", "decimals")),
        exp.Chr: ("chr", _MANY),
        exp.Coalesce: ("coalesce", _FIRST_AND_MANY),
        exp.Concat: ("concat", _MANY),
        exp.ConcatWs: ("concat_ws", _MANY),
        exp.ConvertTimezone: ("convert_timezone", flat("source_tz", "target_tz", "timestamp")),
        exp.Count: ("count", _FIRST_AND_MANY),
        exp.CumeDist: ("cume_dist", _MANY),
        exp.DateTrunc: ("trunc", flat("this", "unit")),
        exp.Day: ("day", _inside),
        exp.DayOfMonth: ("dayofmonth", _inside),
        exp.DayOfWeek: ("dayofweek", _inside),
        exp.DayOfYear: ("dayofyear", _inside),
        exp.Decode: ("decode", flat("this", "charset")),
        exp.DecodeCase: ("decode", _MANY),
        exp.DenseRank: ("dense_rank", _MANY),
        exp.Elt: ("elt", _FIRST_AND_MANY),
        exp.Encode: ("encode", flat("this", "charset")),
        exp.Floor: ("floor", flat("this", "decimals")),
        exp.Format: ("format_string", _FIRST_AND_MANY),
        exp.FromTimeZone: ("to_utc_timestamp", _unwrapped_cast),
        exp.GenerateSeries: ("sequence", flat("start", "end", "step")),
        exp.Greatest: ("greatest", _FIRST_AND_MANY),
        exp.GroupConcat: ("listagg", flat("this", "separator")),
        exp.Grouping: ("grouping", _MANY),
        exp.GroupingId: ("grouping_id", _MANY),
        exp.JSONFormat: ("to_json", flat("this", "options")),
        exp.Lag: ("lag", flat("this", "offset", "default")),
        exp.Lead: ("lead", flat("this", "offset", "default")),
        exp.Least: ("least", _FIRST_AND_MANY),
        exp.MakeInterval: ("make_interval", flat("year", "month", "week", "day", "hour", "minute", "second")),
        exp.Map: ("map_from_arrays", flat("keys", "values")),
        exp.MapContainsKey: ("map_contains_key", flat("this", "key")),
        exp.Max: ("max", _FIRST_AND_MANY),
        exp.Min: ("min", _FIRST_AND_MANY),
        exp.Month: ("month", _inside),
        exp.MonthsBetween: ("months_between", flat("this", "expression", "roundoff")),
        exp.NthValue: ("nth_value", flat("this", "offset")),
        exp.Nvl2: ("nvl2", flat("this", "true", "false")),
        exp.Overlay: ("overlay", flat("this", "expression", "from_", "for_")),
        exp.Pad: ("lpad", flat("this", "expression", "fill_pattern")),
        exp.ParseUrl: ("parse_url", flat("this", "part_to_extract", "key")),
        exp.PercentRank: ("percent_rank", _MANY),
        exp.Quantile: ("percentile", flat("this", "quantile")),
        exp.Rank: ("rank", _MANY),
        exp.Reduce: ("aggregate", flat("this", "initial", "merge", "finish")),
        exp.RegexpExtract: ("regexp_extract", flat("this", "expression", "group")),
        exp.RegexpExtractAll: ("regexp_extract_all", flat("this", "expression", "group")),
        exp.RegexpInstr: ("regexp_instr", flat("this", "expression", "position")),
        exp.RegexpReplace: ("regexp_replace", flat("this", "expression", "replacement", "position")),
        exp.RegexpSplit: ("split", flat("this", "expression", "limit")),
        exp.Repeat: ("repeat", flat("this", "times")),
        exp.Replace: ("replace", flat("this", "expression", "replacement")),
        exp.Round: ("round", flat("this", "decimals")),
        exp.SHA2: ("sha2", flat("this", "length")),
        exp.SplitPart: ("split_part", flat("this", "delimiter", "part_index")),
        exp.Stack: ("stack", _FIRST_AND_MANY),
        exp.StrPosition: ("locate", flat("substr", "this", "position")),
        exp.StrToMap: ("str_to_map", flat("this", "pair_delim", "key_value_delim")),
        exp.StrToTime: ("to_timestamp", flat("this", "format")),
        exp.StrToUnix: ("unix_timestamp", flat("this", "format")),
        exp.Substring: ("substring", flat("this", "start", "length")),
        exp.SubstringIndex: ("substring_index", flat("this", "delimiter", "count")),
        exp.TimeToStr: ("date_format", _inside),
        exp.Time: ("time", _ONE),
        exp.TimeDiff: ("time_diff", _TWO),
        exp.TimeTrunc: ("time_trunc", _ONE),
        exp.TimestampAdd: ("timestampadd", flat("expression", "this")),
        exp.TimestampDiff: ("timestampdiff", _TWO),
        exp.TimestampFromParts: (
            "make_timestamp",
            flat("year", "month", "day", "hour", "min", "sec", "zone"),
        ),
        exp.TimestampTrunc: ("date_trunc", flat("unit", "this")),
        exp.ToBinary: ("to_binary", flat("this", "format")),
        exp.ToChar: ("to_char", flat("this", "format")),
        exp.ToNumber: ("to_number", flat("this", "format")),
        exp.Translate: ("translate", flat("this", "from_", "to")),
        exp.Trim: ("trim", _TWO),
        exp.TsOrDsAdd: ("date_add", _moved_days),
        exp.TsOrDsToDate: ("to_date", flat("this", "format")),
        exp.UnixToStr: ("from_unixtime", flat("this", "format")),
        exp.WeekOfYear: ("weekofyear", _inside),
        exp.WidthBucket: ("width_bucket", flat("this", "min_value", "max_value", "num_buckets")),
        exp.Year: ("year", _inside),
    }
    return {cls: (name, _ONE) for cls, name in one.items()} | {cls: (name, _TWO) for cls, name in two.items()} | other


CLASSES = _classes()
