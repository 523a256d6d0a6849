"""Spark's errors about files that cannot be read, which may come long after the read began: which file, where, why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from tidegate.config import ZoneSettings
from tidegate.errors import FailureKind, LandingError
from tidegate.project.landing_files import ZoneFile, file_format
from tidegate.transform.landing.bad_records import BadRecord, bad_records_error, first_bad_records
from tidegate.transform.landing.csv_dialect import Dialect, find_dialect
from tidegate.transform.landing.csv_files import find_values, malformed_records
from tidegate.transform.landing.json_files import broken_records

__all__ = [
    "MALFORMED_REMEDY",
    "MISFIT_MARK",
    "MISFIT_SEPARATOR",
    "explain_read_error",
    "has_broken_quotes",
    "local_path",
    "malformed_csv",
    "misfit",
    "shortened",
]

MISFIT_MARK = "landing value does not fit"
"""Begins the message that a CSV value raises inside Spark; path, column, type and value follow."""
MISFIT_SEPARATOR = "\x1f"

MALFORMED_REMEDY = (
    "correct the records, or move the file out of the zone; a field that holds the delimiter, a quote or a line break "
    'must stand in double quotes, with "" for a quote inside it'
)

_MISFIT = re.compile(MISFIT_MARK + f"{MISFIT_SEPARATOR}([^{MISFIT_SEPARATOR}]*)" * 7 + MISFIT_SEPARATOR)
_FILE = re.compile(r"\[FAILED_READ_FILE\.(\w+)\] Encountered error while reading file (.+?)\.\s")
_NOT_FOUND = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (.+?)\. SQLSTATE")
_RAISED = re.compile(r"tidegate\.[\w.]+\.(?:LandingError|UnreadableFileError): ([^\n]+)")
_CAUSE = re.compile(r"Caused by: (?:[\w$]+\.)+([\w$]+(?:: [^\n]*)?)")

_NOISE = re.compile(r"^\w+: (?:\[\w+\] )?|\s*SQLSTATE: \w+")


def explain_read_error(error: BaseException, files: Sequence[ZoneFile]) -> LandingError | None:
    """The user-facing error about one of `files`; None if the exception is about something else."""
    text = str(error)
    if misfit := _MISFIT.search(text):
        path, column, kind, *dialect, value = misfit.groups()
        return _misfit(local_path(path), Dialect(*dialect), column, kind, value) if _belongs(path, files) else None
    if raised := _RAISED.search(text):  # by the code that splits a file into records
        gone = LandingError(raised[1], remedy="run again; if it stays so, deliver the file again")
        gone.kind = FailureKind.TRANSIENT
        return gone
    if missing := _NOT_FOUND.search(text):
        return _gone(local_path(missing[1])) if _belongs(missing[1], files) else None
    match = _FILE.search(text)
    if match is None or not _belongs(match[2], files):
        return None
    condition, path = match[1], local_path(match[2])
    if condition == "FILE_NOT_EXIST":
        return _gone(path)
    return _broken(path, text)


def has_broken_quotes(error: BaseException) -> bool:
    """Spark's reader of CSV files raises for these, where it only marks other malformed records."""
    return "TextParsingException" in str(error) or "MALFORMED_CSV_RECORD" in str(error)


def malformed_csv(path: Path, dialect: Dialect, width: int | None, record: str = "") -> LandingError:
    """Of a CSV file that Spark found malformed, with the line looked up in the file itself."""
    first, total = first_bad_records(malformed_records(path, dialect, width))
    unknown = BadRecord(path, None, f"has a malformed record{': ' + record if record else ''}")
    return bad_records_error(first or (unknown,), total, MALFORMED_REMEDY)


def misfit(column: str, kind: str, value: str) -> str:
    """What is wrong with a value, after the name of its file."""
    return f"has '{shortened(value)}' in column '{column}', which does not fit {kind}"


def shortened(value: str) -> str:
    return value if len(value) <= 80 else value[:80] + "…"


def _misfit(path: Path, dialect: Dialect, column: str, kind: str, value: str) -> LandingError:
    line = next(find_values(path, dialect, column, value), None)
    return LandingError(
        f"'{path.name}' {misfit(column, kind, value)}",
        where=f"{path}:{line}" if line else str(path),
        remedy=f"correct the value, or declare '{column}' with a wider type in the zone's columns",
    )


def _gone(path: Path) -> LandingError:
    error = LandingError(
        f"'{path.name}' was removed or replaced while it was being read",
        where=str(path),
        remedy="run again; deliver files under a name that begins with '_' and rename them when they are whole",
    )
    error.kind = FailureKind.TRANSIENT
    return error


def _broken(path: Path, text: str) -> LandingError:
    kind = file_format(path.name)
    if kind == "csv" and ("MALFORMED" in text or "TextParsingException" in text):
        return malformed_csv(path, find_dialect(path, ZoneSettings()), None)
    causes = _CAUSE.findall(text)
    why = _NOISE.sub("", causes[-1])[:300] if causes else "Spark gave no reason"
    remedy = "replace the file by a whole one, or move it out of the zone"
    if "PARQUET_COLUMN_DATA_TYPE_MISMATCH" in text or "MALFORMED_RECORD" in text:
        remedy = "declare the column with a type that its values have, fix the file, or move it out of the zone"
    first, total = first_bad_records(broken_records(path) if kind == "json" and "MALFORMED" in text else ())
    if first:
        return bad_records_error(first, total, remedy)
    return LandingError(f"'{path.name}' cannot be read: {why}", where=str(path), remedy=remedy)


def _belongs(uri: str, files: Sequence[ZoneFile]) -> bool:
    path = local_path(uri).as_posix()
    return any(path.endswith(f"/{file.path}") for file in files)


def local_path(uri: str) -> Path:
    """The path behind `file:/…`, which Spark percent-encodes in some messages and not in others."""
    raw = re.sub(r"^file:/+", "/", uri)
    decoded = Path(unquote(raw))
    return decoded if decoded.exists() or not Path(raw).exists() else Path(raw)
