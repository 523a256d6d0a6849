"""What is wrong with a file of Python before its tree is looked at."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from tidegate.compiler.python_code.code_problem import CodeProblem

__all__ = ["LARGEST_SOURCE", "check_text"]

LARGEST_SOURCE = 500_000
_ENCODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_PLAIN_ENCODINGS = frozenset({"utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii"})
_DIRECTIONS = re.compile("[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_CODE = "BlockedSource"


def check_text(source: str) -> Iterator[CodeProblem]:
    if len(source) > LARGEST_SOURCE:
        message = f"the file has {len(source)} characters, more than {LARGEST_SOURCE}"
        yield CodeProblem(1, 1, _CODE, message, "keep data in a landing zone, and code in several models")
    text = source.removeprefix("\ufeff")
    lines = text.split("\n")
    for number, line in enumerate(lines[:2], 1):
        encoding = _ENCODING.match(line)
        if encoding and encoding[1].lower().replace("_", "-") not in _PLAIN_ENCODINGS:
            message = (
                f"the file is read as UTF-8, and says that it is {encoding[1]}: what is read would not be what runs"
            )
            yield CodeProblem(number, 1, _CODE, message, "save it as UTF-8 and remove the line")
    for number, line in enumerate(lines, 1):
        if (at := line.find("\0")) >= 0:
            yield CodeProblem(number, at + 1, _CODE, "the file holds a NUL byte", "remove it")
        if (sign := _DIRECTIONS.search(line)) is not None:
            name = unicodedata.name(sign[0], "a sign")
            message = f"{name} (U+{ord(sign[0]):04X}) is not seen, and lets code look like other code"
            yield CodeProblem(number, sign.start() + 1, _CODE, message, "remove it, or write it as an escape in a text")
