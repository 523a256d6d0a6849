"""The relations of a plan that a sandboxed model may send. Their values are looked at by `PlanCheck`."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.python_models.connect.message_rules import (
    ARTIFACTS,
    CATALOG,
    CHECKPOINTS,
    FILES,
    JVM_CODE,
    MACHINE_LEARNING,
    NOT_KNOWN,
    STREAMING,
    MessageRule,
    rule,
)

__all__ = ["RELATION_RULES"]

_STATE = "state between groups belongs to streams; use applyInPandas without state"

RELATION_RULES: Mapping[str, MessageRule] = {
    "Relation": rule(
        """
        common read project filter join set_op sort limit aggregate sql local_relation sample offset deduplicate range
        subquery_alias repartition to_df with_columns_renamed show_string drop tail with_columns hint unpivot to_schema
        repartition_by_expression map_partitions collect_metrics group_map co_group_map html_string
        common_inline_user_defined_table_function as_of_join with_relations transpose
        unresolved_table_valued_function lateral_join fill_na drop_na replace summary crosstab describe cov corr
        approx_quantile freq_items sample_by
        """,
        with_watermark=STREAMING,
        parse="texts are parsed with from_json, from_csv and from_xml",
        apply_in_pandas_with_state=STREAMING,
        cached_local_relation=ARTIFACTS,
        chunked_cached_local_relation=ARTIFACTS,
        cached_remote_relation=CHECKPOINTS,
        common_inline_user_defined_data_source=FILES,
        catalog=CATALOG,
        ml_relation=MACHINE_LEARNING,
        extension=NOT_KNOWN,
        unknown=NOT_KNOWN,
    ),
    "RelationCommon": rule("plan_id origin", source_info=NOT_KNOWN),
    "Origin": rule("python_origin", jvm_origin=JVM_CODE),
    "PythonOrigin": rule("fragment call_site"),
    "Read": rule("named_table", data_source=FILES, is_streaming=STREAMING),
    "Read.NamedTable": rule("unparsed_identifier", options="a table is read without options"),
    "Project": rule("input expressions"),
    "Filter": rule("input condition"),
    "Join": rule("left right join_condition join_type using_columns", join_data_type=JVM_CODE),
    "AsOfJoin": rule(
        """
        left right left_as_of right_as_of join_expr using_columns join_type tolerance allow_exact_matches direction
        """
    ),
    "LateralJoin": rule("left right join_condition join_type"),
    "SetOperation": rule("left_input right_input set_op_type is_all by_name allow_missing_columns"),
    "Sort": rule("input order is_global"),
    "Limit": rule("input limit"),
    "Offset": rule("input offset"),
    "Tail": rule("input limit"),
    "Aggregate": rule("input group_type grouping_expressions aggregate_expressions pivot grouping_sets"),
    "Aggregate.Pivot": rule("col values"),
    "Aggregate.GroupingSets": rule("grouping_set"),
    "SQL": rule("query args pos_args named_arguments pos_arguments"),
    "LocalRelation": rule("data schema"),
    "Sample": rule("input lower_bound upper_bound with_replacement seed deterministic_order"),
    "Deduplicate": rule("input column_names all_columns_as_keys", within_watermark=STREAMING),
    "Range": rule("start end step num_partitions"),
    "SubqueryAlias": rule("input alias", qualifier="an alias is one name"),
    "Repartition": rule("input num_partitions shuffle"),
    "RepartitionByExpression": rule("input partition_exprs num_partitions"),
    "ToDF": rule("input column_names"),
    "ToSchema": rule("input schema"),
    "WithColumnsRenamed": rule("input rename_columns_map renames"),
    "WithColumnsRenamed.Rename": rule("col_name new_col_name"),
    "WithColumns": rule("input aliases"),
    "WithRelations": rule("root references"),
    "ShowString": rule("input num_rows truncate vertical"),
    "HtmlString": rule("input num_rows truncate"),
    "Drop": rule("input columns column_names"),
    "Hint": rule("input name parameters"),
    "Unpivot": rule("input ids values variable_column_name value_column_name"),
    "Unpivot.Values": rule("values"),
    "Transpose": rule("input index_columns"),
    "CollectMetrics": rule("input name metrics"),
    "UnresolvedTableValuedFunction": rule("function_name arguments"),
    "MapPartitions": rule(
        "input func",
        is_barrier="barrier tasks may wait for ever",
        profile_id="profiles of resources belong to the project's [spark.conf]",
    ),
    "GroupMap": rule(
        "input grouping_expressions func",
        sorting_expressions=JVM_CODE,
        initial_input=_STATE,
        initial_grouping_expressions=_STATE,
        is_map_groups_with_state=_STATE,
        output_mode=_STATE,
        timeout_conf=_STATE,
        state_schema=_STATE,
        transform_with_state_info=_STATE,
    ),
    "CoGroupMap": rule(
        "input input_grouping_expressions other other_grouping_expressions func",
        input_sorting_expressions=JVM_CODE,
        other_sorting_expressions=JVM_CODE,
    ),
    "CommonInlineUserDefinedTableFunction": rule("function_name deterministic arguments python_udtf"),
    "PythonUDTF": rule("return_type eval_type command python_ver"),
    "NAFill": rule("input cols values"),
    "NADrop": rule("input cols min_non_nulls"),
    "NAReplace": rule("input cols replacements"),
    "NAReplace.Replacement": rule("old_value new_value"),
    "StatSummary": rule("input statistics"),
    "StatDescribe": rule("input cols"),
    "StatCrosstab": rule("input col1 col2"),
    "StatCov": rule("input col1 col2"),
    "StatCorr": rule("input col1 col2 method"),
    "StatApproxQuantile": rule("input cols probabilities relative_error"),
    "StatFreqItems": rule("input cols support"),
    "StatSampleBy": rule("input col fractions seed"),
    "StatSampleBy.Fraction": rule("stratum fraction"),
}
