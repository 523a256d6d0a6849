"""Records of landing files, and whole files, that cannot be read, reported together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from tidegate.errors import LandingError

__all__ = [
    "SHOWN",
    "BadRecord",
    "BadRecordsError",
    "UnreadableFileError",
    "bad_records_error",
    "bad_records_of_files",
    "first_bad_records",
    "look_at_each",
]

T = TypeVar("T")

SHOWN = 20
_READERS = 8


@dataclass(frozen=True, slots=True)
class BadRecord:
    """`why` goes on from the file's name: "has 1 field where 2 are expected"."""

    path: Path
    line: int | None
    why: str

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}" if self.line else str(self.path)


def first_bad_records(records: Iterable[BadRecord]) -> tuple[tuple[BadRecord, ...], int]:
    """The first few, and the number of all."""
    every = iter(records)
    first = tuple(islice(every, SHOWN))
    return first, len(first) + sum(1 for _ in every)


def bad_records_of_files(
    files: Iterable[tuple[Path, Iterable[BadRecord]]],
) -> tuple[tuple[BadRecord, ...], int, list[Path]]:
    """The first few of all, the number of all, and the files that hold some."""
    paths: list[Path] = []

    def every() -> Iterator[BadRecord]:
        for path, records in files:
            for number, record in enumerate(records):
                if not number:
                    paths.append(path)
                yield record

    return (*first_bad_records(every()), paths)


class UnreadableFileError(LandingError):
    """Nothing of a file can be read, because of what is in it. `files`: all that a look at several has found."""

    def __init__(self, path: Path, why: str, *, remedy: str, line: int | None = None) -> None:
        """`why` goes on from the file's name."""
        found = BadRecord(path, line, why)
        super().__init__(f"'{path.name}' {why}", where=found.where, remedy=remedy)
        self.files: tuple[BadRecord, ...] = (found,)


def look_at_each(look: Callable[[Path], T], paths: Sequence[Path]) -> list[T]:
    """What `look` gives for each file; several are read at once. Raises for the first that cannot be read, with all of
    them as its `files`."""

    def outcome(path: Path) -> T | UnreadableFileError:
        try:
            return look(path)
        except UnreadableFileError as error:
            return error

    with ThreadPoolExecutor(_READERS, thread_name_prefix="landing") as pool:
        outcomes = list(pool.map(outcome, paths))
    errors = [each for each in outcomes if isinstance(each, UnreadableFileError)]
    if errors:
        errors[0].files = tuple(file for error in errors for file in error.files)
        raise errors[0]
    return [each for each in outcomes if not isinstance(each, UnreadableFileError)]


class BadRecordsError(LandingError):
    """`paths`: every file that holds some of the records."""

    paths: frozenset[Path] = frozenset()


def bad_records_error(
    first: Sequence[BadRecord], total: int, remedy: str, paths: Iterable[Path] = ()
) -> BadRecordsError:
    """`first` is not empty."""
    error = BadRecordsError(_message(first, total), where=first[0].where, remedy=remedy)
    error.paths = frozenset(paths)
    return error


def _message(first: Sequence[BadRecord], total: int) -> str:
    if total <= 1:
        return f"'{first[0].path.name}' {first[0].why}"
    files = {record.path for record in first}
    one = len(files) == 1 and total <= SHOWN
    of = f"'{first[0].path.name}'" if one else f"landing zone '{first[0].path.parent.name}'"
    lines = [f"{total} records of {of} cannot be read:"]
    lines += [f"  {record.path.name}{f':{record.line}' if record.line else ''} {record.why}" for record in first]
    if total > len(first):
        lines.append(f"  and {total - len(first)} more")
    return "\n".join(lines)
