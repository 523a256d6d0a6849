"""The command of Spark's JVM is the one that Spark's own launcher gives, or its script."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark
import pytest

from tidegate.spark.java import find_java
from tidegate.spark.launch_command import LAST_JARS, launch_command

_HOME = Path(pyspark.__file__).parent
_CONF = {
    "spark.app.name": "tide gate",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-Da=b  -XX:+UseSerialGC",
}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("SPARK_", "PYSPARK_", "HADOOP_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("JAVA_HOME", str(find_java().home))


@pytest.mark.spark
def test_it_is_what_the_launcher_of_spark_gives(tmp_path: Path) -> None:
    (tmp_path / "classes").mkdir()
    path = os.pathsep.join([str(tmp_path / "a.jar"), str(tmp_path / "classes"), str(tmp_path / "a.jar")])
    last = os.pathsep.join([str(tmp_path / "b.jar"), str(tmp_path / "a.jar")])
    conf = {**_CONF, "spark.driver.extraClassPath": path}
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    launcher = ["-Xmx128m", "-cp", str(_HOME / "jars" / "*"), "org.apache.spark.launcher.Main"]
    submit = ["org.apache.spark.deploy.SparkSubmit", *settings, "pyspark-shell"]
    given = subprocess.run(
        [f"{os.environ['JAVA_HOME']}/bin/java", *launcher, *submit],
        env={**os.environ, "SPARK_HOME": str(_HOME), "SPARK_SCALA_VERSION": "2.13", LAST_JARS: last},
        capture_output=True,
        text=True,
        check=True,
    )
    words = [word.strip() for word in given.stdout.split("\0") if word.strip()]
    java, ours = words[: words.index("--conf")], launch_command(conf, last).arguments
    assert list(ours[: ours.index("--conf")]) == java
    assert sorted(ours[ours.index("--conf") :]) == sorted(words[words.index("--conf") :])


def test_the_environment_is_that_of_the_script() -> None:
    environment = launch_command(_CONF).environment
    assert environment["PYTHONHASHSEED"] == "0"
    assert environment["SPARK_HOME"] == str(_HOME)


@pytest.mark.parametrize("variable", ["PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR"])
def test_what_only_the_script_reads_is_left_to_it(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "--name mine pyspark-shell")
    command = launch_command(_CONF)
    assert command.arguments[0] == str(_HOME / "bin" / "spark-submit")
    assert not command.environment
    assert (command.arguments[-3:] == ("--name", "mine", "pyspark-shell")) == (variable == "PYSPARK_SUBMIT_ARGS")


@pytest.mark.parametrize(
    "setting",
    [
        {"spark.driver.extraLibraryPath": "/opt/lib"},
        {"spark.driver.extraJavaOptions": '-Da="b c"'},
        {"spark.driver.extraJavaOptions": "-Xmx4g"},
    ],
)
def test_a_setting_that_the_launcher_treats_apart_is_left_to_it(setting: dict[str, str]) -> None:
    assert launch_command({**_CONF, **setting}).arguments[0].endswith("spark-submit")


def test_an_installation_of_its_own_is_started_by_its_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert launch_command(_CONF).arguments[0] == str(tmp_path / "bin" / "spark-submit")
