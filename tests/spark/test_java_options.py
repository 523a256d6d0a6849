from pathlib import Path

import pytest

from tidegate.spark.java_options import java_options
from tidegate.spark.work import Work, work_of

_LOG4J = Path("/logs/log4j2.properties")


def collectors(options: str) -> list[str]:
    return [option for option in options.split() if option.endswith("GC")]


@pytest.mark.parametrize("work", [Work.LONG, Work.LASTING])
def test_long_work_is_optimised_and_collected_side_by_side(work: Work) -> None:
    options = java_options(_LOG4J, None, "-Xss4m", work)
    assert collectors(options) == ["-XX:+UseParallelGC"]
    assert "TieredStopAtLevel" not in options


def test_short_work_is_compiled_once_and_little() -> None:
    options = java_options(_LOG4J, None, "", Work.SHORT)
    assert collectors(options) == ["-XX:+UseSerialGC"]
    assert {"-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m"} <= set(options.split())


@pytest.mark.parametrize("work", list(Work))
def test_a_collector_of_the_project_is_the_only_one(work: Work) -> None:
    options = java_options(_LOG4J, Path("/cache/a.jsa"), "-Xss4m -XX:+UseG1GC", work)
    assert collectors(options) == ["-XX:+UseG1GC"]
    assert {"-Xss4m", "-XX:SharedArchiveFile=/cache/a.jsa"} <= set(options.split())


@pytest.mark.parametrize("work", list(Work))
@pytest.mark.parametrize("variable", ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"])
def test_a_collector_of_the_environment_is_the_only_one(
    work: Work, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "-XX:+UseZGC")
    assert collectors(java_options(_LOG4J, None, "", work)) == []


@pytest.mark.parametrize(
    "own", ["-XX:TieredStopAtLevel=3", "-XX:-TieredCompilation", "-XX:CompileThreshold=9", "-Xint"]
)
def test_a_project_that_says_how_to_compile_is_obeyed(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in (java_options(_LOG4J, None, own, Work.SHORT).removesuffix(own), _with(own, monkeypatch)):
        assert "Tiered" not in options
        assert "CodeCache" not in options


def _with(variable: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", variable)
    return java_options(_LOG4J, None, "", Work.SHORT)


def test_a_value_that_the_environment_sets_is_not_set_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line would win over it."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:MetaspaceSize=64m -XX:+UsePerfData -XX:ReservedCodeCacheSize=512m")
    options = java_options(_LOG4J, None, "", Work.SHORT)
    assert not any(name in options for name in ("MetaspaceSize", "UsePerfData", "ReservedCodeCacheSize"))
    assert "-XX:TieredStopAtLevel=1" in options.split()


def test_work_is_short_only_where_its_size_is_known_to_be_small() -> None:
    assert work_of(0) is Work.SHORT
    assert work_of(None) is Work.LONG
    assert work_of(1 << 40) is Work.LONG
    assert work_of(0, 3600.0) is Work.LONG
