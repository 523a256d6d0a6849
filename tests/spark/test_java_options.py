from pathlib import Path

import pytest

from tidegate.spark.java_options import java_options

_LOG4J = Path("/logs/log4j2.properties")


def test_the_parallel_collector_is_the_default() -> None:
    assert "-XX:+UseParallelGC" in java_options(_LOG4J, None, "-Xss4m").split()


def test_a_collector_of_the_project_is_the_only_one() -> None:
    options = java_options(_LOG4J, Path("/cache/a.jsa"), "-Xss4m -XX:+UseG1GC").split()
    assert [option for option in options if option.endswith("GC")] == ["-XX:+UseG1GC"]
    assert {"-Xss4m", "-XX:SharedArchiveFile=/cache/a.jsa"} <= set(options)


def test_a_collector_of_the_environment_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseZGC")
    assert "GC" not in java_options(_LOG4J, None, "")
