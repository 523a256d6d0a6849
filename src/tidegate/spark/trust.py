"""Certificates for a Java that has none of the machine's own: a company's proxy signs with its own authority."""

from __future__ import annotations

import os
import re
import ssl
import struct
from hashlib import sha1
from pathlib import Path

__all__ = ["certificate_bundle", "write_trust_store"]

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def certificate_bundle(*, system: bool) -> Path | None:
    """The PEM file that the environment names; with `system`, else the one that the machine has."""
    named = [os.environ.get(name) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")]
    if system:
        named.append(ssl.get_default_verify_paths().cafile)
    return next((Path(name) for name in named if name and Path(name).is_file()), None)


def write_trust_store(bundle: Path, target: Path, password: str) -> None:
    """The bundle's certificates as a Java key store (format JKS, version 2)."""
    pems = _CERTIFICATE.findall(bundle.read_text(encoding="utf-8", errors="replace"))
    body = struct.pack(">IIi", 0xFEEDFEED, 2, len(pems))
    for number, pem in enumerate(pems):
        der = ssl.PEM_cert_to_DER_cert(pem)
        body += struct.pack(">i", 2) + _text(f"authority-{number}") + struct.pack(">q", 0)
        body += _text("X.509") + struct.pack(">i", len(der)) + der
    # The format asks for this digest; it guards against accidents, not against anyone.
    digest = sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body, usedforsecurity=False).digest()
    target.write_bytes(body + digest)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded
