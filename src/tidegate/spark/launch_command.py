"""The command that becomes Spark's JVM.

It is the one that the script `spark-submit` would arrive at by starting a shell, Python and a first JVM. Whatever only
that script knows how to read (an installation of the user's own, its settings, variables) is left to it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["KNOWN_SPARK", "LAST_JARS", "LaunchCommand", "launch_command"]

LAST_JARS = "SPARK_DIST_CLASSPATH"
"""The variable with what stands behind Spark's own jars on the class path. An archive of classes fits every class path
that begins as its own did."""

KNOWN_SPARK = "4.1."
"""The versions whose options for Java are those below."""

_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(
        f"--add-opens={package}=ALL-UNNAMED"
        for package in (
            *(f"java.base/java.{name}" for name in ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util")),
            *(f"java.base/java.util.{name}" for name in ("concurrent", "concurrent.atomic")),
            *(f"java.base/{name}" for name in ("jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action")),
            *("java.base/sun.util.calendar", "java.security.jgss/sun.security.krb5"),
        )
    ),
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
_READ_BY_SCRIPT = (
    "HADOOP_CONF_DIR",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_LAUNCHER_OPTS",
    "SPARK_PREPEND_CLASSES",
    "SPARK_PRINT_LAUNCH_COMMAND",
    "SPARK_REMOTE",
    "SPARK_SQL_TESTING",
    "SPARK_SUBMIT_OPTS",
    "SPARK_TESTING",
    "YARN_CONF_DIR",
)
_SETTINGS_OF_SCRIPT = (
    "spark.api.mode",
    "spark.driver.defaultExtraClassPath",
    "spark.driver.defaultJavaOptions",
    "spark.driver.extraLibraryPath",
    "spark.remote",
    "spark.submit.deployMode",
)
_MEMORY, _CLASS_PATH, _JAVA = "spark.driver.memory", "spark.driver.extraClassPath", "spark.driver.extraJavaOptions"


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def launch_command(conf: Mapping[str, str], last_jars: str = "") -> LaunchCommand:
    """`conf`: the settings of the session; `last_jars`: the value of that variable. JAVA_HOME is set."""
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    home = _own_spark()
    if home is None or not _is_plain(home, conf):
        from pyspark.find_spark_home import _find_spark_home

        script = Path(_find_spark_home()) / "bin" / "spark-submit"
        rest = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        return LaunchCommand((str(script), *settings, *rest))
    arguments = (
        str(Path(os.environ["JAVA_HOME"]) / "bin" / "java"),
        "-cp",
        os.pathsep.join(_class_path(home, conf.get(_CLASS_PATH, ""), last_jars)),
        f"-Xmx{conf[_MEMORY]}",
        *conf.get(_JAVA, "").split(),
        *_OPTIONS,
        "org.apache.spark.deploy.SparkSubmit",
        *settings,
        "pyspark-shell",
    )
    # What the script exports. Spark's Python workers have the same seed for hashes in all processes.
    environment = {
        "PYTHONHASHSEED": "0",
        "SPARK_CONF_DIR": str(home / "conf"),
        "SPARK_ENV_LOADED": "1",
        "SPARK_HOME": str(home),
        "SPARK_SCALA_VERSION": "2.13",
    }
    return LaunchCommand(arguments, environment)


def _own_spark() -> Path | None:
    """The Spark that is part of PySpark, if it is the one to use. PySpark is not imported before the JVM starts."""
    package = importlib.util.find_spec("pyspark")
    home = Path(package.origin).parent if package is not None and package.origin else None
    other = os.environ.get("SPARK_HOME")
    if home is None or not (home / "bin" / "spark-submit").is_file():
        return None
    return home if not other or Path(other).resolve() == home.resolve() else None


def _is_plain(home: Path, conf: Mapping[str, str]) -> bool:
    """Nothing is there that only the script reads: no settings beside Spark, no variables, options that are words."""
    options = conf.get(_JAVA, "")
    return (
        importlib.metadata.version("pyspark").startswith(KNOWN_SPARK)
        and not (home / "conf").exists()
        and not any(os.environ.get(name) for name in _READ_BY_SCRIPT)
        and not any(name in conf for name in _SETTINGS_OF_SCRIPT)
        and bool(conf.get(_MEMORY))
        and "-Xmx" not in options
        and not any(character in options for character in "\"'\\")
    )


def _class_path(home: Path, extra: str, last: str) -> list[str]:
    """In this order, each once: an archive of classes is refused for another path."""
    jars = home / "jars"
    first = sorted(str(jar) for jar in jars.glob("slf4j-api-*"))
    before, behind = (filter(None, given.split(os.pathsep)) for given in (extra, last))
    entries = [*before, str(home / "conf"), *first, str(jars / "*"), *behind]
    return list(dict.fromkeys(f"{entry.rstrip('/')}/" if os.path.isdir(entry) else entry for entry in entries))
