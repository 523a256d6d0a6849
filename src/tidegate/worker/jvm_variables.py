"""Which variables of a command's environment the worker's JVM has: those that Java, Spark or its libraries read.

All others belong to the command alone, which passes them to the Python workers of its own functions. A command in whose
environment one of these differs gets another worker.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.redaction import looks_secret, passwords_in

__all__ = ["NO_VARIABLES", "jvm_variables"]

_NAMES = frozenset(
    {
        "ALL_PROXY",
        "CLASSPATH",
        "HOME",
        "HOSTNAME",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "JAVA_HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "NO_PROXY",
        "PATH",
        "TEMP",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
        "_JAVA_OPTIONS",
    }
)
"""In upper case: of proxies there are both."""

_BEGINNINGS = (
    "ARROW_",
    "AWS_",
    "AZURE_",
    "CONDA_",
    "DYLD_",
    "GCE_",
    "GCLOUD_",
    "GCP_",
    "GCS_",
    "GOOGLE_",
    "HADOOP_",
    "HDFS_",
    "HIVE_",
    "ICEBERG_",
    "JAVA_",
    "JDK_",
    "KRB5",
    "LC_",
    "LD_",
    "MALLOC_",
    "MKL_",
    "NESSIE_",
    "OMP_",
    "OPENBLAS_",
    "PYSPARK_",
    "PYTHON",
    "SPARK_",
    "SSL_",
    "YARN_",
)
NO_VARIABLES = ("PYSPARK_GATEWAY_", "_PYSPARK_")
"""How names begin that belong to one connection to a JVM."""


def jvm_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Also those that look secret, or that hold a password: Spark's log redacts the values that it started with."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(NO_VARIABLES)
        and (
            name.upper() in _NAMES
            or name.upper().startswith(_BEGINNINGS)
            or looks_secret(name)
            or any(passwords_in(value))
        )
    }
