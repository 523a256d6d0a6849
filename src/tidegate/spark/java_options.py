"""Options of the JVM that runs Spark's driver, before those of the project."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["java_options"]

_READ_BY_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")


def java_options(logging: Path, archive: Path | None, own: str) -> str:
    """`logging`: the configuration of Log4j; `archive`: of classes; `own`: what the project sets, which wins."""
    options = [
        # An XML document names a DTD, and xpath() would fetch it, from any file or host.
        "-Djavax.xml.accessExternalDTD=",
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
    ]
    if archive is not None:
        options.append(f"-XX:SharedArchiveFile={archive}")
    others = [os.environ.get(name, "") for name in _READ_BY_JAVA]
    if not any(map(_COLLECTOR.search, [own, *others])):  # a JVM with two collectors does not start
        # A tenth less processor time than Java's default, for rows that Spark makes and drops: the default pays for
        # short pauses, which no batch needs.
        options.append("-XX:+UseParallelGC")
    return " ".join([*options, own]).strip()
