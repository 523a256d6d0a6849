"""A raw file by its name: its format, how it is compressed, and its records in pieces."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

import pyarrow as pa

from tidegate.chunks.reading.csv_pieces import read_csv
from tidegate.chunks.reading.json_pieces import read_json
from tidegate.chunks.reading.parquet_pieces import read_parquet
from tidegate.chunks.reading.pieces import FilePiece, refused
from tidegate.config.file_formats import FILE_FORMATS, FileFormat
from tidegate.failures import first_line
from tidegate.storage import Storage

__all__ = ["COMPRESSIONS", "RawFormat", "read_pieces", "require_format"]


@dataclass(frozen=True, slots=True)
class Compression:
    magic: bytes
    """How the file begins."""

    open: Callable[[BinaryIO], BinaryIO]


def _arrow(codec: str) -> Callable[[BinaryIO], BinaryIO]:
    return lambda stream: cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), codec))


def _xz(stream: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, lzma.LZMAFile(stream))


COMPRESSIONS = {
    "gz": Compression(b"\x1f\x8b", lambda stream: cast(BinaryIO, gzip.GzipFile(fileobj=stream))),
    "zst": Compression(b"\x28\xb5\x2f\xfd", _arrow("zstd")),
    "bz2": Compression(b"BZh", _arrow("bz2")),
    "xz": Compression(b"\xfd7zXZ\x00", _xz),
}
"""By the ending of a file's name."""

_NAMES = {"gzip": "gz", "zstd": "zst"}
_PARQUET = b"PAR1"
_BROKEN = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, pa.ArrowException)


@dataclass(frozen=True, slots=True)
class RawFormat:
    form: FileFormat
    compression: str | None = None
    """Of COMPRESSIONS."""


def require_format(path: str) -> RawFormat:
    """By the name of the file. Raises RawFileError."""
    stem, ending = os.path.splitext(path.rpartition("/")[2].lower())
    compression = _NAMES.get(ending[1:], ending[1:])
    if compression in COMPRESSIONS:
        ending = os.path.splitext(stem)[1]
    form = FILE_FORMATS.get(ending[1:])
    if form is None:
        known = ", ".join(f".{name}" for name in FILE_FORMATS)
        packed = ", ".join(f".{name}" for name in COMPRESSIONS)
        raise refused(
            path,
            "its name does not say which format it has",
            f"give it one of the endings {known}, with {packed} after it if it is compressed",
        )
    return RawFormat(form, compression if compression in COMPRESSIONS else None)


def read_pieces(
    storage: Storage, path: str, delimiter: str | None, rows: int, progress: Callable[[int], None]
) -> Iterator[FilePiece]:
    """`rows`: how many a piece of Parquet has. `progress` receives how many bytes of the file are read. Raises
    RawFileError where the file as a whole cannot be read; then pieces may have been given."""
    raw = require_format(path)
    with storage.open(path) as file:
        _require_beginning(file, path, raw)
        with _uncompressed(file, raw) as stream:
            pieces = _pieces(stream, path, raw.form, delimiter, rows)
            try:
                for piece in pieces:
                    yield piece
                    progress(file.tell())
            except (*_BROKEN, OSError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise  # of the disk
                raise refused(
                    path,
                    f"it cannot be unpacked: {first_line(error)}",
                    "deliver the whole file; if it is still being written, run this again when it is complete",
                ) from None


def _pieces(stream: BinaryIO, path: str, form: FileFormat, delimiter: str | None, rows: int) -> Iterator[FilePiece]:
    if form.reader == "json":
        return read_json(stream, path, form.by_line)
    if form.reader == "csv":
        return read_csv(stream, path, delimiter or form.delimiter)
    return read_parquet(stream, path, rows)


def _require_beginning(file: BinaryIO, path: str, raw: RawFormat) -> None:
    """Raises RawFileError where the content is of another kind than the name says."""
    start = file.read(8)
    file.seek(0)
    if not start:
        return
    found = next((name for name, kind in COMPRESSIONS.items() if start.startswith(kind.magic)), None)
    if found != raw.compression:
        what = f"it is compressed as {found}" if found else f"it is not compressed as {raw.compression}"
        raise refused(path, f"{what}, and its name says something else", "give the file the ending of what it is")
    if raw.compression is None and start.startswith(_PARQUET) != (raw.form.reader == "parquet"):
        what = "it is Parquet" if start.startswith(_PARQUET) else "it is not Parquet"
        raise refused(path, f"{what}, and its name says something else", "give the file the ending of its format")


@contextmanager
def _uncompressed(file: BinaryIO, raw: RawFormat) -> Iterator[BinaryIO]:
    if raw.compression is None:
        yield file
        return
    stream = COMPRESSIONS[raw.compression].open(file)
    if raw.form.reader != "parquet":
        yield stream
        return
    with tempfile.TemporaryFile() as unpacked:  # Parquet is read from its end
        shutil.copyfileobj(stream, unpacked, 1 << 20)
        unpacked.seek(0, io.SEEK_SET)
        yield cast(BinaryIO, unpacked)
