"""The commands that a sandboxed model may send: those that the proxy answers itself."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.python_models.connect.message_rules import (
    CHECKPOINTS,
    FILES,
    MACHINE_LEARNING,
    NOT_KNOWN,
    STREAMING,
    WRITES,
    MessageRule,
    rule,
)

__all__ = ["COMMAND_RULES"]

_INLINE = "functions have no names in a session; call what udf(…) or udtf(…) returns"

COMMAND_RULES: Mapping[str, MessageRule] = {
    "Command": rule(
        "sql_command",
        register_function=_INLINE,
        register_table_function=_INLINE,
        create_dataframe_view="views have no names in a session; work on the DataFrame itself",
        write_operation=WRITES,
        write_operation_v2=WRITES,
        merge_into_table_command=WRITES,
        write_stream_operation_start=STREAMING,
        streaming_query_command=STREAMING,
        streaming_query_manager_command=STREAMING,
        streaming_query_listener_bus_command=STREAMING,
        register_data_source=FILES,
        get_resources_command="the machine's resources are closed to Python models",
        create_resource_profile_command="profiles of resources belong to the project's [spark.conf]",
        checkpoint_command=CHECKPOINTS,
        remove_cached_remote_relation_command=CHECKPOINTS,
        ml_command=MACHINE_LEARNING,
        execute_external_command="commands of other systems are closed to Python models",
        pipeline_command="Tidegate runs the models; pipelines of Spark are closed to them",
        extension=NOT_KNOWN,
    ),
    "SqlCommand": rule(
        "input", sql=NOT_KNOWN, args=NOT_KNOWN, pos_args=NOT_KNOWN, named_arguments=NOT_KNOWN, pos_arguments=NOT_KNOWN
    ),
}
