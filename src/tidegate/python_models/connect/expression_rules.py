"""The expressions, literals and types that a plan may hold. Their values are looked at by `PlanCheck`."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.python_models.connect.message_rules import ARTIFACTS, JVM_CODE, NOT_KNOWN, WRITES, MessageRule, rule

__all__ = ["EXPRESSION_RULES"]

_METADATA_COLUMN = "metadata columns say which files were read, and are closed to Python models"

_OPERATIONS: Mapping[str, MessageRule] = {
    "Expression": rule(
        """
        common literal unresolved_attribute unresolved_function expression_string unresolved_star alias cast
        unresolved_regex sort_order lambda_function window unresolved_extract_value update_fields
        unresolved_named_lambda_variable common_inline_user_defined_function call_function named_argument_expression
        subquery_expression direct_shuffle_partition_id
        """,
        merge_action=WRITES,
        typed_aggregate_expression=JVM_CODE,
        extension=NOT_KNOWN,
    ),
    "ExpressionCommon": rule("origin"),
    "Expression.UnresolvedAttribute": rule("unparsed_identifier plan_id", is_metadata_column=_METADATA_COLUMN),
    "Expression.UnresolvedFunction": rule(
        "function_name arguments is_distinct is_internal",
        is_user_defined_function="functions of a catalog are closed to Python models",
    ),
    "Expression.ExpressionString": rule("expression"),
    "Expression.UnresolvedStar": rule("unparsed_target plan_id"),
    "Expression.UnresolvedRegex": rule("col_name plan_id"),
    "Expression.Alias": rule("expr name metadata"),
    "Expression.Cast": rule("expr type type_str eval_mode"),
    "Expression.SortOrder": rule("child direction null_ordering"),
    "Expression.LambdaFunction": rule("function arguments"),
    "Expression.UnresolvedNamedLambdaVariable": rule("name_parts"),
    "Expression.Window": rule("window_function partition_spec order_spec frame_spec"),
    "Expression.Window.WindowFrame": rule("frame_type lower upper"),
    "Expression.Window.WindowFrame.FrameBoundary": rule("current_row unbounded value"),
    "Expression.UnresolvedExtractValue": rule("child extraction"),
    "Expression.UpdateFields": rule("struct_expression field_name value_expression"),
    "Expression.DirectShufflePartitionID": rule("child"),
    "CallFunction": rule("function_name arguments"),
    "NamedArgumentExpression": rule("key value"),
    "SubqueryExpression": rule("plan_id subquery_type table_arg_options in_subquery_values"),
    "SubqueryExpression.TableArgOptions": rule("partition_spec order_spec with_single_partition"),
    "CommonInlineUserDefinedFunction": rule(
        "function_name deterministic arguments python_udf is_distinct",
        scalar_scala_udf=JVM_CODE,
        java_udf=JVM_CODE,
    ),
    "PythonUDF": rule("output_type eval_type command python_ver", additional_includes=ARTIFACTS),
}

_LITERALS: Mapping[str, MessageRule] = {
    "Expression.Literal": rule(
        """
        null binary boolean byte short integer long float double decimal string date timestamp timestamp_ntz
        calendar_interval year_month_interval day_time_interval array map struct specialized_array time data_type
        """
    ),
    "Expression.Literal.Decimal": rule("value precision scale"),
    "Expression.Literal.CalendarInterval": rule("months days microseconds"),
    "Expression.Literal.Array": rule("element_type elements"),
    "Expression.Literal.Map": rule("key_type value_type keys values"),
    "Expression.Literal.Struct": rule("struct_type elements"),
    "Expression.Literal.SpecializedArray": rule("bools ints longs floats doubles strings"),
    "Expression.Literal.Time": rule("nano precision"),
    **{name: rule("values") for name in ("Bools", "Ints", "Longs", "Floats", "Doubles", "Strings")},
}

_VARIATION = "type_variation_reference"

_TYPES: Mapping[str, MessageRule] = {
    "DataType": rule(
        """
        null binary boolean byte short integer long float double decimal string char var_char date timestamp
        timestamp_ntz calendar_interval year_month_interval day_time_interval array struct map variant geometry
        geography unparsed time
        """,
        udt="a user-defined type loads a class of the JVM; use a struct",
    ),
    **{
        f"DataType.{name}": rule(_VARIATION)
        for name in (
            *("NULL", "Binary", "Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double", "Date", "Timestamp"),
            *("TimestampNTZ", "CalendarInterval", "Variant"),
        )
    },
    "DataType.Decimal": rule(f"scale precision {_VARIATION}"),
    "DataType.String": rule(f"collation {_VARIATION}"),
    "DataType.Char": rule(f"length {_VARIATION}"),
    "DataType.VarChar": rule(f"length {_VARIATION}"),
    "DataType.Time": rule(f"precision {_VARIATION}"),
    "DataType.YearMonthInterval": rule(f"start_field end_field {_VARIATION}"),
    "DataType.DayTimeInterval": rule(f"start_field end_field {_VARIATION}"),
    "DataType.Array": rule(f"element_type contains_null {_VARIATION}"),
    "DataType.Struct": rule(f"fields {_VARIATION}"),
    "DataType.StructField": rule("name data_type nullable metadata"),
    "DataType.Map": rule(f"key_type value_type value_contains_null {_VARIATION}"),
    "DataType.Geometry": rule(f"srid {_VARIATION}"),
    "DataType.Geography": rule(f"srid {_VARIATION}"),
    "DataType.Unparsed": rule("data_type_string"),
}

EXPRESSION_RULES: Mapping[str, MessageRule] = {**_OPERATIONS, **_LITERALS, **_TYPES}
