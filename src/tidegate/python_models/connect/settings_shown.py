"""The settings of Spark that a sandboxed model may read: those of PySpark's client, and those a model depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql.connect.proto import base_pb2

from tidegate.python_models.connect.plan_functions import refusal

__all__ = ["READABLE", "config_response"]

READABLE = (
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
    "spark.sql.execution.arrow.pyspark.enabled",
    "spark.sql.execution.arrow.pyspark.selfDestruct.enabled",
    "spark.sql.execution.arrow.useLargeVarTypes",
    "spark.sql.execution.pandas.convertToArrowArraySafely",
    "spark.sql.execution.pandas.inferPandasDictAsMap",
    "spark.sql.execution.pandas.structHandlingMode",
    "spark.sql.execution.pyspark.binaryAsBytes",
    "spark.sql.execution.pythonUDF.arrow.enabled",
    "spark.sql.execution.pythonUDTF.arrow.enabled",
    "spark.sql.pyspark.inferNestedDictAsStruct.enabled",
    "spark.sql.pyspark.legacy.inferArrayTypeFromFirstElement.enabled",
    "spark.sql.pyspark.legacy.inferMapTypeFromFirstPair.enabled",
    "spark.sql.repl.eagerEval.maxNumRows",
    "spark.sql.repl.eagerEval.truncate",
    "spark.sql.session.localRelationBatchOfChunksSizeBytes",
    "spark.sql.session.localRelationChunkSizeBytes",
    "spark.sql.session.localRelationChunkSizeRows",
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.partitions",
    "spark.sql.timestampType",
)

_FIXED = {
    # Rows come inside the plan, where they are counted, and never as artifacts.
    "spark.sql.session.localRelationCacheThreshold": str((1 << 31) - 1),
    "spark.connect.session.planCompression.threshold": "-1",
    "spark.connect.session.planCompression.defaultAlgorithm": "NONE",
    "spark.sql.connect.serverStacktrace.enabled": "false",
    "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    "spark.sql.repl.eagerEval.enabled": "false",
}


def _answers(operation: Any, known: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """Name and value of each setting that is asked for. `known`: the session's values of READABLE."""
    values = {**known, **_FIXED}
    kind = operation.WhichOneof("op_type")
    if kind == "get":
        for key in operation.get.keys:
            if key not in values:
                raise refusal(f"the setting {key[:200]!r} is closed to Python models; use tg.var for the project's own")
            yield key, values[key]
    elif kind == "get_with_default":
        for pair in operation.get_with_default.pairs:
            yield pair.key, values.get(pair.key, pair.value if pair.HasField("value") else None)
    elif kind == "get_option":
        yield from ((key, values.get(key)) for key in operation.get_option.keys)
    elif kind == "get_all":
        prefix = operation.get_all.prefix
        yield from ((key, value) for key, value in values.items() if key.startswith(prefix))
    elif kind == "is_modifiable":
        yield from ((key, "false") for key in operation.is_modifiable.keys)
    else:
        raise refusal("an empty question about settings")


def config_response(operation: Any, known: Mapping[str, str], session_id: str) -> Any:
    pairs = [base_pb2.KeyValue(key=key, value=value) for key, value in _answers(operation, known)]
    return base_pb2.ConfigResponse(session_id=session_id, pairs=pairs)
