"""Functions of Spark that do more than compute: each with what it does."""

from __future__ import annotations

__all__ = ["READS_FILES", "REFUSED", "RUNS_CODE", "WITH_OPTIONS"]

RUNS_CODE: dict[str, str] = {
    "java_method": "it calls any method of the JVM",
    "reflect": "it calls any method of the JVM",
    "try_reflect": "it calls any method of the JVM",
}
"""Only `[spark] allow_code` opens these, and to models alone."""

READS_FILES: dict[str, str] = {
    "from_avro": "its options may name a file to be read",
    "from_protobuf": "it reads a file of descriptors",
    "python_worker_logs": "it reads the logs of other queries",
    "schema_of_avro": "its options may name a file to be read",
    "to_avro": "it belongs to a module that reads files",
    "to_protobuf": "it reads a file of descriptors",
}
"""A project may declare these in `[spark] functions`."""

REFUSED: dict[str, str] = {**RUNS_CODE, **READS_FILES}

WITH_OPTIONS: dict[str, str] = {
    "from_xml": "rowvalidationxsdpath",
    "schema_of_xml": "rowvalidationxsdpath",
}
"""Functions of whose options one names a file. The options must be written out, so that it can be seen."""
