"""The bytes of a landing file, unzipped, in pieces that fit in memory."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from tidegate.errors import FailureKind, LandingError

__all__ = ["BOM", "open_raw", "pieces", "utf8_pieces"]

BOM = codecs.BOM_UTF8
_PIECE = 1 << 20


@contextmanager
def open_raw(path: Path) -> Iterator[BinaryIO]:
    """Reads as the name says: `.gz` is unzipped, as Spark does. Whatever fails is told as this file's error."""
    try:
        with _unzip(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            yield file
    except FileNotFoundError as error:
        gone = LandingError(f"'{path.name}' was removed while it was being read", where=str(path), remedy="run again")
        gone.kind = FailureKind.TRANSIENT
        raise gone from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise LandingError(
            f"'{path.name}' is not a whole gzip file: {error}",
            where=str(path),
            remedy="deliver the file again, or move it out of the zone",
        ) from error
    except OSError as error:
        raise LandingError(
            f"'{path.name}' cannot be read: {error.strerror or error}",
            where=str(path),
            remedy="give this user read access to the file, or move it out of the zone",
        ) from error


def _unzip(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb"))


def pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def utf8_pieces(path: Path) -> Iterator[bytes]:
    """The file's bytes; raises at the first that is not UTF-8, which Spark would replace without a word."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with open_raw(path) as file:
        for piece in pieces(file):
            try:
                decoder.decode(piece)
            except UnicodeDecodeError as error:
                raise _not_utf8(path, line + error.object.count(b"\n", 0, error.start)) from None
            line += piece.count(b"\n")
            yield piece
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise _not_utf8(path, line) from None


def _not_utf8(path: Path, line: int) -> LandingError:
    return LandingError(
        f"'{path.name}' is not UTF-8",
        where=f"{path}:{line}",
        remedy=f"convert it, for example: iconv -f WINDOWS-1252 -t UTF-8 {path.name} (UTF-16 from some spreadsheets)",
    )
