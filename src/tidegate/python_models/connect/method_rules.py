"""The calls of Spark Connect that a sandboxed model may make, and what their requests may hold.

Who asks, for which session and with which options is replaced by what the proxy itself sends.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.python_models.connect.message_rules import ARTIFACTS, FILES, NOT_KNOWN, SESSION, MessageRule, rule

__all__ = ["METHOD_RULES", "REFUSED_METHODS", "REQUESTS"]

_ASKING = "session_id client_observed_server_side_session_id user_context client_type"

REQUESTS: Mapping[str, str] = {
    "ExecutePlan": "ExecutePlanRequest",
    "AnalyzePlan": "AnalyzePlanRequest",
    "Config": "ConfigRequest",
    "Interrupt": "InterruptRequest",
    "ReleaseExecute": "ReleaseExecuteRequest",
    "ReleaseSession": "ReleaseSessionRequest",
}
"""The message of each call that is answered."""

REFUSED_METHODS: Mapping[str, str] = {
    "AddArtifacts": ARTIFACTS,
    "ArtifactStatus": ARTIFACTS,
    "CloneSession": SESSION,
    "ReattachExecute": "a call is answered at once, and cannot be resumed",
    "FetchErrorDetails": "all that is known of an error comes with it",
}

METHOD_RULES: Mapping[str, MessageRule] = {
    "ExecutePlanRequest": rule(f"{_ASKING} operation_id plan request_options tags"),
    "ExecutePlanRequest.RequestOption": rule("reattach_options result_chunking_options", extension=NOT_KNOWN),
    "ReattachOptions": rule("reattachable"),
    "ResultChunkingOptions": rule("allow_arrow_batch_chunking preferred_arrow_chunk_size"),
    "UserContext": rule("user_id user_name", extensions=NOT_KNOWN),
    "Plan": rule("root command", compressed_operation="plans are sent as they are"),
    "AnalyzePlanRequest": rule(
        f"""
        {_ASKING} schema explain tree_string is_local is_streaming spark_version ddl_parse same_semantics semantic_hash
        persist unpersist get_storage_level json_to_ddl
        """,
        input_files=FILES,
    ),
    "AnalyzePlanRequest.Schema": rule("plan"),
    "AnalyzePlanRequest.Explain": rule("plan explain_mode"),
    "AnalyzePlanRequest.TreeString": rule("plan level"),
    "AnalyzePlanRequest.IsLocal": rule("plan"),
    "AnalyzePlanRequest.IsStreaming": rule("plan"),
    "AnalyzePlanRequest.SparkVersion": rule(""),
    "AnalyzePlanRequest.DDLParse": rule("ddl_string"),
    "AnalyzePlanRequest.SameSemantics": rule("target_plan other_plan"),
    "AnalyzePlanRequest.SemanticHash": rule("plan"),
    "AnalyzePlanRequest.Persist": rule("relation storage_level"),
    "AnalyzePlanRequest.Unpersist": rule("relation blocking"),
    "AnalyzePlanRequest.GetStorageLevel": rule("relation"),
    "AnalyzePlanRequest.JsonToDDL": rule("json_string"),
    "StorageLevel": rule("use_disk use_memory use_off_heap deserialized replication"),
    "ConfigRequest": rule(f"{_ASKING} operation"),
    "ConfigRequest.Operation": rule(
        "get get_with_default get_option get_all is_modifiable",
        set="settings belong to the project: write them in [spark.conf] of tidegate.toml",
        unset="settings belong to the project: write them in [spark.conf] of tidegate.toml",
    ),
    "ConfigRequest.Get": rule("keys"),
    "ConfigRequest.GetWithDefault": rule("pairs"),
    "ConfigRequest.GetOption": rule("keys"),
    "ConfigRequest.GetAll": rule("prefix"),
    "ConfigRequest.IsModifiable": rule("keys"),
    "KeyValue": rule("key value"),
    "InterruptRequest": rule(f"{_ASKING} interrupt_type operation_tag operation_id"),
    "ReleaseExecuteRequest": rule(f"{_ASKING} operation_id release_all release_until"),
    "ReleaseExecuteRequest.ReleaseAll": rule(""),
    "ReleaseExecuteRequest.ReleaseUntil": rule("response_id"),
    "ReleaseSessionRequest": rule("session_id user_context client_type allow_reconnect"),
}
