"""Keys of an S3 server: from the environment, else from a profile of AWS's tools."""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegate.errors import FailureKind, StorageError
from tidegate.redaction import Secret, register

__all__ = ["S3Keys", "s3_keys"]


@dataclass(frozen=True, slots=True)
class S3Keys:
    access_key: str
    secret_key: Secret
    session_token: Secret | None = None


def s3_keys(profile: str | None, env: Mapping[str, str] | None = None) -> S3Keys | None:
    """None: neither has them; the machine may give some. Raises StorageError where `profile` cannot be found."""
    env = os.environ if env is None else env
    if env.get("AWS_ACCESS_KEY_ID"):
        return _keys({name.lower(): value for name, value in env.items()}, "the environment")
    file = Path(env.get("AWS_SHARED_CREDENTIALS_FILE") or Path.home() / ".aws" / "credentials")
    parser = configparser.RawConfigParser()
    try:
        parser.read(file, encoding="utf-8")
    except (OSError, UnicodeDecodeError, configparser.Error):
        raise _unusable("the file cannot be read", str(file)) from None
    if parser.has_section(profile or "default"):
        return _keys(parser[profile or "default"], str(file))
    if profile is not None:
        raise _unusable(f"there is no profile '{profile}'", str(file))
    return None


def _keys(values: Mapping[str, str], where: str) -> S3Keys:
    secret, token = values.get("aws_secret_access_key"), values.get("aws_session_token")
    if not secret:
        raise _unusable("AWS_ACCESS_KEY_ID has no AWS_SECRET_ACCESS_KEY with it", where)
    register(secret)
    register(token)
    return S3Keys(values["aws_access_key_id"], Secret(secret), Secret(token) if token else None)


def _unusable(what: str, where: str) -> StorageError:
    return StorageError(
        f"the keys of S3 cannot be used: {what}",
        where=where,
        remedy="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or correct 'profile' in [s3] or AWS_PROFILE",
        kind=FailureKind.AUTH_FAILED,
    )
