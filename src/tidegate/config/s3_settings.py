"""`[s3]`: where locations that begin with `s3://` are. Keys come from the environment or a profile, never from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from tidegate.config.section_reader import Section

__all__ = ["S3Section", "read_s3"]

_SECRET_KEYS = {
    "access_key_id": "AWS_ACCESS_KEY_ID",
    "access_key": "AWS_ACCESS_KEY_ID",
    "secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "secret_key": "AWS_SECRET_ACCESS_KEY",
    "session_token": "AWS_SESSION_TOKEN",
}
"""Keys that people may expect here, by the variable that they belong in."""


@dataclass(frozen=True, slots=True)
class S3Section:
    endpoint: str | None = None
    """The address of the server; None: that of AWS."""

    region: str = "us-east-1"
    path_style: bool = False
    """The bucket is the first part of the path, not of the host's name."""

    profile: str | None = None
    """The section of ~/.aws/credentials, for keys that are not in the environment; None: `default`."""


def read_s3(section: Section, env: Mapping[str, str]) -> S3Section:
    """What is not written comes from the variables that AWS's own tools read."""
    endpoint = section.text("endpoint", None) or env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL") or None
    if endpoint is not None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            section.report("endpoint", "'endpoint' in [s3] must be an address such as https://s3.example.org")
        elif parts.username or parts.password:
            section.report("endpoint", "'endpoint' in [s3] must not hold a user or password: set AWS_ACCESS_KEY_ID")
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or S3Section().region
    s3 = S3Section(
        endpoint=None if endpoint is None else endpoint.rstrip("/"),
        region=section.text("region", region),
        path_style=section.boolean("path_style", endpoint is not None),
        profile=section.text("profile", env.get("AWS_PROFILE") or None),
    )
    for key, variable in _SECRET_KEYS.items():
        if key in section.table:
            section.raw(key)
            section.report(key, f"'{key}' does not belong in [s3]: set {variable}, or name a 'profile'")
    section.finish()
    return s3
