"""The jars that Spark needs beside its own, pinned by content, in the cache folder.

They are fetched once, by the Ivy that is part of PySpark. A file that a person copied to the folder is as good.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from hashlib import file_digest
from pathlib import Path

from tidegate.config import JdbcSource, Settings
from tidegate.config.paths import cache_folder
from tidegate.errors import JarsMissingError
from tidegate.spark.ivy import Coordinates, fetch
from tidegate.spark.java import Java

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock; there the last of two fetches wins, with equal content
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "DRIVERS",
    "JARS",
    "Jar",
    "JarState",
    "JarStatus",
    "drivers_of",
    "ensure_jars",
    "jars_folder",
    "jars_status",
]


@dataclass(frozen=True, slots=True)
class Jar:
    coordinates: Coordinates
    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        return f"{self.coordinates.name}-{self.coordinates.revision}.jar"


JARS = (
    Jar(
        Coordinates("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.12.0"),
        "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
        48309426,
    ),
    Jar(
        Coordinates("org.xerial", "sqlite-jdbc", "3.50.3.0"),
        "a3f53a2aa15ae9425a9e793bbe9c8e5288febeb4b65ef5c1a4e80d4c2045cf08",
        14346720,
    ),
    # The driver for sources and for a catalog on PostgreSQL, which must be there when Java starts.
    Jar(
        Coordinates("org.postgresql", "postgresql", "42.7.8"),
        "2a32a9dcbc42d67a50ad3a0de5efd102c8d2be46720045f2cbd6689f160ab7c7",
        1116727,
    ),
)


DRIVERS = {
    "com.microsoft.sqlserver.jdbc.SQLServerDriver": Jar(
        Coordinates("com.microsoft.sqlserver", "mssql-jdbc", "12.10.1.jre11"),
        "d0b614f17f3dece1e813ae534d3037f6e5a65868832b6d23fba07249b14a21d2",
        1498699,
    ),
}
"""JDBC drivers that only projects with such a source need, by their class."""


def drivers_of(settings: Settings) -> tuple[Jar, ...]:
    """Those of the project's sources. A driver that is not listed is put on Spark's class path by [spark.conf]."""
    classes = {source.driver for source in settings.sources.values() if isinstance(source, JdbcSource)}
    return tuple(jar for driver, jar in DRIVERS.items() if driver in classes)


class JarState(StrEnum):
    READY = "ready"
    MISSING = "missing"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class JarStatus:
    jar: Jar
    path: Path
    state: JarState


def jars_folder() -> Path:
    return cache_folder() / "jars"


def jars_status(jars: tuple[Jar, ...] = JARS) -> tuple[JarStatus, ...]:
    """The state of the jars in the folder, which is not changed."""
    return tuple(_status(jar, jars_folder() / jar.file_name) for jar in jars)


def ensure_jars(java: Java, report: Callable[[str], None], jars: tuple[Jar, ...] = JARS) -> tuple[Path, ...]:
    """The files, fetched first where they are missing. `report` receives lines about the progress."""
    folder = jars_folder()
    if all(_is_verified(jar, folder / jar.file_name) for jar in jars):
        return tuple(folder / jar.file_name for jar in jars)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder / ".lock"):
            missing = tuple(jar for jar in jars if not _verify(jar, folder / jar.file_name))
            if missing:
                _fetch_into(folder, missing, java, report)
    except OSError as error:
        raise JarsMissingError(
            f"Cannot store jars in {folder}: {error.strerror or error}",
            where=str(folder),
            remedy="Set TIDEGATE_HOME to a folder that can be written and has 100 MB free.",
        ) from error
    return tuple(folder / jar.file_name for jar in jars)


def _fetch_into(folder: Path, jars: tuple[Jar, ...], java: Java, report: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder, ignore_cleanup_errors=True) as scratch:
        for jar in jars:
            report(f"Fetching {jar.file_name} ({jar.size / 1e6:.1f} MB) to {folder}; this happens once")
        outcome = fetch(
            tuple(jar.coordinates for jar in jars), Path(scratch), java, sum(jar.size for jar in jars), report
        )
        absent = [jar for jar in jars if not (outcome.folder / jar.file_name).is_file()]
        if absent:
            raise JarsMissingError(
                f"Could not fetch {', '.join(jar.file_name for jar in absent)}: {outcome.trouble}",
                where=str(folder),
                remedy=_how_to_get(absent, folder),
            )
        for jar in jars:
            fetched = outcome.folder / jar.file_name
            if _sha256(fetched) != jar.sha256:
                raise JarsMissingError(
                    f"The fetched {jar.file_name} is not the expected file (its SHA-256 differs)",
                    where=str(folder),
                    remedy=f"A proxy may have answered instead of the repository. {_how_to_get([jar], folder)}",
                )
            fetched.replace(folder / jar.file_name)
            _stamp(jar, folder / jar.file_name)
        report("All jars are fetched.")


def _how_to_get(jars: list[Jar], folder: Path) -> str:
    names = ", ".join(str(jar.coordinates) for jar in jars)
    return (
        "Check the network and the proxy settings (HTTPS_PROXY is honoured; TIDEGATE_IVY_SETTINGS may name an Ivy "
        f"settings file of your own repository), or copy {names} from another machine into {folder}."
    )


def _status(jar: Jar, path: Path) -> JarStatus:
    if not path.is_file():
        return JarStatus(jar, path, JarState.MISSING)
    ready = _is_verified(jar, path) or (path.stat().st_size == jar.size and _sha256(path) == jar.sha256)
    return JarStatus(jar, path, JarState.READY if ready else JarState.DAMAGED)


def _is_verified(jar: Jar, path: Path) -> bool:
    """Cheap: the file is unchanged since its hash was computed."""
    try:
        return _stamp_file(path).read_text(encoding="ascii") == _stamp_text(jar, path)
    except (OSError, UnicodeDecodeError):
        return False


def _verify(jar: Jar, path: Path) -> bool:
    if _is_verified(jar, path):
        return True
    if not path.is_file() or path.stat().st_size != jar.size or _sha256(path) != jar.sha256:
        return False
    _stamp(jar, path)
    return True


def _stamp(jar: Jar, path: Path) -> None:
    text = _stamp_text(jar, path)
    draft = _stamp_file(path).with_suffix(f".{os.getpid()}")
    draft.write_text(text, encoding="ascii")
    draft.replace(_stamp_file(path))


def _stamp_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.verified")


def _stamp_text(jar: Jar, path: Path) -> str:
    facts = path.stat()
    return f"{jar.sha256} {facts.st_size} {facts.st_mtime_ns}\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One fetch at a time; a second process then finds the files of the first."""
    with path.open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
