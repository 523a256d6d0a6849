"""What an S3 server refuses, as errors for people.

The answer of the server is not shown: it may hold the access key, or what was signed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError

from tidegate.errors import FailureKind, StorageError

__all__ = ["missing_bucket", "s3_failures"]

_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"status code: (\d{3})")
_METADATA_SERVICES = ("169.254.169.254", "169.254.170.2")
"""Who gives keys to machines of a cloud."""

_OTHER_REGION = ("AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect")
_KEYS = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile, and what they may do in this bucket"
_REACH = "check that the server runs, and 'endpoint' in [s3]"


@contextmanager
def s3_failures(path: str, location: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        if _code(error) == "NoSuchBucket":
            raise missing_bucket(location) from None
        raise FileNotFoundError(f"there is no file {location}/{path}") from None
    except (BaseError, OSError) as error:
        raise _failure(error, path, location) from None


def missing_bucket(location: str) -> StorageError:
    bucket = location.split("/")[2]
    return StorageError(
        f"there is no bucket '{bucket}'",
        where=location,
        remedy="create the bucket, or correct the location and 'endpoint' in [s3]",
        kind=FailureKind.NOT_FOUND,
    )


def _failure(error: Exception, path: str, location: str) -> StorageError:
    text, code = str(error), _code(error)
    if code == "NoSuchBucket":
        return missing_bucket(location)
    status = int(match[1]) if (match := _STATUS.search(text)) else None
    if any(address in text for address in _METADATA_SERVICES):
        message, kind = "there are no keys for S3", FailureKind.AUTH_FAILED
        remedy = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a 'profile' in [s3]"
    else:
        message, kind, remedy = _explained(status, code, f"'{path}'" if path else "the bucket")
        if status is not None:
            message = f"{message} ({' '.join(str(part) for part in (status, code) if part)})"
    return StorageError(message, where=location, remedy=remedy, kind=kind)


def _explained(status: int | None, code: str | None, what: str) -> tuple[str, FailureKind, str]:
    """Message, kind and remedy."""
    if status is None:
        return f"the server cannot be reached for {what}", FailureKind.CONNECTION_FAILED, _REACH
    if status == 429 or code == "SlowDown":
        return "the server asks for fewer requests", FailureKind.QUOTA_EXCEEDED, "repeat the command later"
    if status in (301, 307) or code in _OTHER_REGION:
        return "the bucket is in another region", FailureKind.QUERY_REJECTED, "correct 'region' in [s3]"
    if status in (401, 403):
        return f"the server refuses {what}", FailureKind.AUTH_FAILED, _KEYS
    if status == 412:
        again = "repeat the command once the file is complete"
        return f"{what} was replaced while it was read", FailureKind.TRANSIENT, again
    kind = FailureKind.UNKNOWN if status < 500 else FailureKind.TRANSIENT
    return f"the server fails for {what}", kind, "repeat the command; if it fails again, see the server's log"


def _code(error: Exception) -> str | None:
    match = _CODE.search(str(error))
    return match[1] if match else None
