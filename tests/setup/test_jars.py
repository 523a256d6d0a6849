"""Jars are fetched once, by content, and a broken one is never used."""

from __future__ import annotations

import os
import subprocess
from hashlib import sha256
from pathlib import Path

import certifi
import pytest

from tidegate.errors import JarsMissingError
from tidegate.spark.ivy import Coordinates, write_trust_store
from tidegate.spark.jars import Jar, JarState, ensure_jars, jars_folder, jars_status
from tidegate.spark.java import Java, find_java

CONTENT = b"not really a jar, but all that Ivy looks at" * 1000
WANTED = Jar(Coordinates("org.example", "thing", "1.0"), sha256(CONTENT).hexdigest(), len(CONTENT))
NO_JAVA = Java(Path("/nowhere"), 17, "a test that must not run it")

SETTINGS = """\
<ivysettings><settings defaultResolver="here"/><resolvers><filesystem name="here" m2compatible="true">
<artifact pattern="{folder}/[artifact]-[revision].[ext]"/></filesystem></resolvers></ivysettings>
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    return jars_folder()


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A repository that is a folder, so that no test needs a network."""
    folder = tmp_path / "repository"
    folder.mkdir()
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(SETTINGS.format(folder=folder))
    monkeypatch.setenv("TIDEGATE_IVY_SETTINGS", str(settings))
    return folder


def put(folder: Path, content: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / WANTED.file_name
    path.write_bytes(content)
    return path


def test_file_copied_by_hand_is_taken_without_fetching(folder: Path) -> None:
    path = put(folder, CONTENT)
    assert ensure_jars(NO_JAVA, pytest.fail, (WANTED,)) == (path,)


def test_second_time_reads_no_content(folder: Path) -> None:
    path = put(folder, CONTENT)
    ensure_jars(NO_JAVA, pytest.fail, (WANTED,))
    facts = path.stat()
    path.write_bytes(b"x" * len(CONTENT))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert ensure_jars(NO_JAVA, pytest.fail, (WANTED,)) == (path,)


def test_status_tells_missing_damaged_and_ready_apart(folder: Path) -> None:
    assert [status.state for status in jars_status((WANTED,))] == [JarState.MISSING]
    put(folder, CONTENT[:-1])
    assert [status.state for status in jars_status((WANTED,))] == [JarState.DAMAGED]
    put(folder, CONTENT)
    assert [status.state for status in jars_status((WANTED,))] == [JarState.READY]


def test_folder_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "file"))
    with pytest.raises(JarsMissingError, match="Cannot store jars in") as raised:
        ensure_jars(NO_JAVA, pytest.fail, (WANTED,))
    assert raised.value.remedy is not None
    assert "TIDEGATE_HOME" in raised.value.remedy


@pytest.mark.spark
class TestFetching:
    """With the real Ivy: it needs a JVM, though not Spark."""

    def test_damaged_file_is_fetched_again_and_nothing_else_is_left(self, folder: Path, repository: Path) -> None:
        put(repository, CONTENT)
        put(folder, CONTENT[:-1])
        lines: list[str] = []
        (path,) = ensure_jars(find_java(), lines.append, (WANTED,))
        assert path.read_bytes() == CONTENT
        assert lines[0].startswith("Fetching thing-1.0.jar (0.0 MB)")
        assert not list(folder.glob(".fetch-*"))

    def test_jar_with_another_content_is_refused(self, folder: Path, repository: Path) -> None:
        put(repository, CONTENT + b"!")
        with pytest.raises(JarsMissingError, match="SHA-256 differs"):
            ensure_jars(find_java(), lambda line: None, (WANTED,))
        assert jars_status((WANTED,))[0].state is JarState.MISSING

    def test_jar_that_cannot_be_had_is_named_with_a_remedy(self, folder: Path, repository: Path) -> None:
        with pytest.raises(JarsMissingError, match=r"Could not fetch thing-1.0.jar: .*not found") as raised:
            ensure_jars(find_java(), lambda line: None, (WANTED,))
        assert raised.value.remedy is not None
        assert "org.example:thing:1.0" in raised.value.remedy


@pytest.mark.spark
def test_trust_store_holds_every_certificate_of_the_bundle(tmp_path: Path) -> None:
    bundle = Path(certifi.where())
    write_trust_store(bundle, tmp_path / "trust.jks", "changeit")
    keytool = [str(find_java().home / "bin" / "keytool"), "-list", "-storetype", "JKS", "-storepass", "changeit"]
    done = subprocess.run([*keytool, "-keystore", tmp_path / "trust.jks"], capture_output=True, text=True, check=True)
    assert done.stdout.count("trustedCertEntry") == bundle.read_text().count("BEGIN CERTIFICATE")
