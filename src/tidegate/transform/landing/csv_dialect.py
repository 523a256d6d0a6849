"""How a CSV file is written: its encoding, delimiter and escapes, from what is declared or from the file alone.

| | in this order |
|---|---|
| encoding | by the byte-order mark (UTF-8, UTF-16); UTF-8, if all of the file is; as declared |
| delimiter | declared; of comma, semicolon, tab and bar the one that splits the first record and agrees with the records after it, into most fields where several do |
| escape | declared; backslash if the file has `\\"` and more of its quotes fit together so; else a doubled quote |

What these leave open, or what looks wrong, is refused with the setting that decides it.
"""  # noqa: E501 - a table

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from pathlib import Path

from tidegate.config import ZoneSettings
from tidegate.config.file_formats import FILE_FORMATS, format_of
from tidegate.errors import LandingError
from tidegate.transform.landing.bad_records import UnreadableFileError
from tidegate.transform.landing.raw import SECTION, is_utf8, open_raw

__all__ = ["DEFAULT", "DOUBLED", "Dialect", "find_dialect", "refuse_suspicious_column"]

DOUBLED = '"'
_CANDIDATES = (",", ";", "\t", "|")
_SUSPICIOUS = (*_CANDIDATES, "^", "~", "\x01", "\x1f")
_SHOWN = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
_SAMPLE = 1 << 16
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SPLITTABLE = ("utf-8", "iso-8859-1", "iso-8859-15", "windows-1250", "windows-1251", "windows-1252")


@dataclass(frozen=True, slots=True)
class Dialect:
    """`encoding` is a name that Python and Java share."""

    delimiter: str = ","
    encoding: str = "utf-8"
    escape: str = DOUBLED

    @property
    def codec(self) -> str:
        return "utf-8-sig" if self.encoding == "utf-8" else self.encoding

    @property
    def lines_are_bytes(self) -> bool:
        """A line break is one byte that is nothing else, so that the file can be read in pieces."""
        return self.encoding in _SPLITTABLE

    @property
    def for_python(self) -> dict[str, object]:
        doubled = self.escape == DOUBLED
        return {"delimiter": self.delimiter, "doublequote": doubled, "escapechar": None if doubled else self.escape}


DEFAULT = Dialect()


def find_dialect(path: Path, settings: ZoneSettings) -> Dialect:
    """Encoding and delimiter; the escape as it is declared, or doubled quotes."""
    with open_raw(path) as file:
        head = file.read(_SAMPLE)
    encoding = _encoding(path, head, settings.encoding)
    escape = settings.escape or DOUBLED
    declared = _declared_delimiter(path, settings)
    if declared is not None:
        return Dialect(declared, encoding, escape)
    text = head.decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="replace")
    # A zone of csv may have files that end in .tsv.
    forms = (FILE_FORMATS.get(settings.format or ""), format_of(path.name))
    usual = next((form.delimiter for form in forms if form is not None and form.name != form.reader), ",")
    delimiter = _detect_delimiter(path, text, len(head) == _SAMPLE, Dialect(usual, encoding, escape))
    return Dialect(delimiter, encoding, escape)


def _encoding(path: Path, head: bytes, declared: str | None) -> str:
    """What is declared is for the files that need it: no other text is UTF-8 by chance."""
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if marked is not None or declared is None:
        return marked or "utf-8"
    return "utf-8" if declared in _SPLITTABLE and declared != "utf-8" and is_utf8(path) else declared


def _declared_delimiter(path: Path, settings: ZoneSettings) -> str | None:
    declared = settings.delimiter
    if declared in ("\\t", "tab"):
        return "\t"
    if declared is not None and (len(declared) != 1 or declared in '"\r\n'):
        raise LandingError(
            f"{declared!r} cannot be the delimiter of a CSV file",
            where=f"{SECTION} delimiter",
            remedy="write one character other than a quote or a line break",
        )
    return declared


def _detect_delimiter(path: Path, text: str, cut: bool, dialect: Dialect) -> str:
    widths = {each: _widths(text, cut, Dialect(each, dialect.encoding, dialect.escape)) for each in _CANDIDATES}
    splitting = {each: counts for each, counts in widths.items() if counts and counts[0] > 1}
    if not splitting:
        return dialect.delimiter
    agreeing = {each: counts for each, counts in splitting.items() if len(set(counts)) == 1}
    most = max(counts[0] for counts in (agreeing or splitting).values())
    best = [each for each, counts in (agreeing or splitting).items() if counts[0] == most]
    if len(best) > 1:
        names = " or ".join(_SHOWN[each] for each in best)
        raise UnreadableFileError(
            path,
            f"may be delimited by {names}: each gives {most} columns",
            remedy=f"declare which in {SECTION}, for example delimiter = '{best[0]}'",
            line=1,
        )
    return best[0]


def _widths(text: str, cut: bool, dialect: Dialect) -> list[int]:
    """How many fields each record of the sample has; a record that the sample's end cuts is left out."""
    widths = []
    reader = csv.reader(io.StringIO(text, newline=""), **dialect.for_python)  # type: ignore[arg-type]
    try:
        for record in reader:
            if record:
                widths.append(len(record))
    except csv.Error:  # reported for the whole file later, with its line
        pass
    return widths[:-1] if cut and len(widths) > 1 else widths


def refuse_suspicious_column(path: Path, first: tuple[str, ...], settings: ZoneSettings) -> None:
    """One column whose name holds a delimiter: mostly a whole record in quotes, or one with a delimiter of its own."""
    inside = [mark for mark in _SUSPICIOUS if mark in first[0]]
    if len(first) > 1 or not inside or settings.delimiter is not None or settings.header is False:
        return
    excerpt = first[0] if len(first[0]) <= 60 else first[0][:60] + "…"
    raise UnreadableFileError(
        path,
        f"would have one column, named {excerpt!r}, which looks like several",
        remedy=f"declare it in {SECTION}: delimiter = '{inside[0]}', or a character that the file "
        "does not have if it is one column; records that stand in quotes as a whole must be written without those",
        line=1,
    )
