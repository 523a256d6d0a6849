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
from tidegate.transform.landing.bad_records import UnreadableFileError

__all__ = ["BOM", "SECTION", "is_utf8", "open_raw", "pieces", "utf8_pieces"]

BOM = codecs.BOM_UTF8
SECTION = "[landing.ZONE]"
"""Of the settings of the zone that is read, in messages; `read_zone` puts its name there."""
_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"


@contextmanager
def open_raw(path: Path) -> Iterator[BinaryIO]:
    """Reads as the name says: `.gz` is unzipped, as Spark does. Every failure is raised as an error of this file."""
    try:
        with _unzip(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            if file.peek(2)[:2] == _GZIP:  # type: ignore[attr-defined]
                raise UnreadableFileError(
                    path,
                    "holds gzip data",
                    remedy=f"rename it to {path.name}.gz, so that it is unzipped when it is read",
                )
            yield file
    except FileNotFoundError as error:
        gone = LandingError(f"'{path.name}' was removed while it was being read", where=str(path), remedy="run again")
        gone.kind = FailureKind.TRANSIENT
        raise gone from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableFileError(
            path,
            f"is not a whole gzip file: {error}",
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


def is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open_raw(path) as file:
        try:
            for piece in pieces(file):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def utf8_pieces(path: Path, encoding: str = "utf-8", declarable: bool = False) -> Iterator[bytes]:
    """The file's text as UTF-8; raises at the first byte that is not `encoding`, which Spark would replace silently.

    `declarable`: the zone's settings may name another encoding.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    line, offset = 1, 0
    with open_raw(path) as file:
        while True:
            piece = file.read(_PIECE)
            held = len(decoder.getstate()[0])
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                raise _not_decodable(path, encoding, line, offset - held + error.start, declarable) from None
            except UnicodeError:
                raise UnreadableFileError(
                    path,
                    "has no byte-order mark, so that UTF-16 can be read in two ways",
                    remedy=f"convert it, for example: iconv -f UTF-16LE -t UTF-8 {path.name}",
                ) from None
            if not piece:
                break
            line += piece.count(b"\n")
            offset += len(piece)
            yield piece if encoding == "utf-8" else text.encode()
    if encoding != "utf-8" and text:
        yield text.encode()


def _not_decodable(path: Path, encoding: str, line: int, offset: int, declarable: bool) -> LandingError:
    remedy = f"convert it, for example: iconv -f WINDOWS-1252 -t UTF-8 {path.name} (UTF-16 from some spreadsheets)"
    if declarable:
        remedy = f'declare it in {SECTION}, for example encoding = "windows-1252"; or {remedy}'
    return UnreadableFileError(
        path, f"is not {encoding.upper()}: see the byte at offset {offset}", remedy=remedy, line=line
    )
