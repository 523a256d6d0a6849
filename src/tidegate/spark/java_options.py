"""Options of the JVM that runs Spark's driver, before those of the project."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tidegate.spark.work import Work

__all__ = ["java_options"]

_READ_BY_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_COMPILATION = re.compile(r"-Xint\b|-Xcomp\b|Tier\d|Tiered|CompileThreshold")
_FLAG = re.compile(r"-XX:[+-]?(\w+)")

_QUICK = (
    "-XX:TieredStopAtLevel=1",
    # With one compiler a JVM reserves 48 MB for compiled code, and then compiles again what it had to drop.
    "-XX:ReservedCodeCacheSize=240m",
)
_ALWAYS = (
    # At first 21 MB, and each time that this is reached a collection of the whole heap.
    "-XX:MetaspaceSize=256m",
    # Counters in a file for tools that watch JVMs.
    "-XX:-UsePerfData",
)


def java_options(logging: Path, archive: Path | None, own: str, work: Work = Work.LONG) -> str:
    """`logging`: the configuration of Log4j; `archive`: of classes; `own`: what the project sets, which wins, and so
    does what Java reads from the environment."""
    options = [
        # An XML document names a DTD, and xpath() would fetch it, from any file or host.
        "-Djavax.xml.accessExternalDTD=",
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
    ]
    if archive is not None:
        options.append(f"-XX:SharedArchiveFile={archive}")
    others = " ".join([own, *(os.environ.get(name, "") for name in _READ_BY_JAVA)])
    ours = list(_ALWAYS)
    if not _COLLECTOR.search(others):  # a JVM with two collectors does not start
        # The parallel collector takes a tenth less processor time than Java's default, for rows that Spark makes and
        # drops: the default pays for short pauses, which no batch needs. The serial one starts no threads.
        ours.append("-XX:+UseSerialGC" if work is Work.SHORT else "-XX:+UseParallelGC")
    if work is Work.SHORT and not _COMPILATION.search(others):
        ours += _QUICK
    set_by_others = set(_FLAG.findall(others))
    options += [option for option in ours if _FLAG.findall(option)[0] not in set_by_others]
    return " ".join([*options, own]).strip()
