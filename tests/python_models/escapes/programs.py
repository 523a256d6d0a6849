"""The programs of `tests/cases/escapes`, one file each.

A file is a whole model. Its header says what it seeks and how: `# seeks: file`, then a line of what it tries. Further
lines of the header, each `# key: value`:

- `as: function`: a file of `lib/` that a SQL model calls, whose function is FUNCTION_NAME; else it is a model.
- `check: accepts`: the check of the source finds nothing, so that what stops it are the walls.
- `sample: yes`: one of those that run each time; the others run where TIDEGATE_PROVE is set.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["SECRETS", "EscapeProgram", "groups", "programs"]

FOLDER = Path(__file__).parents[2] / "cases" / "escapes"

SECRETS = ("file", "environment", "network", "table")
"""What is to be stopped by each layer alone."""

_SEEKS = (*SECRETS, "write", "parent", "none")
_HEADER = re.compile(r"# ([a-z]+): (.+)")


@dataclass(frozen=True, slots=True)
class EscapeProgram:
    category: str
    name: str
    text: str
    """With placeholders, see `Plants.values`."""

    header: Mapping[str, str] = field(hash=False)

    @property
    def seeks(self) -> str:
        return self.header["seeks"]

    @property
    def kind(self) -> str:
        return self.header.get("as", "model")

    @property
    def accepted(self) -> bool:
        return self.header.get("check") == "accepts"

    @property
    def sampled(self) -> bool:
        return self.header.get("sample") == "yes"

    @property
    def table(self) -> str:
        return f"{self.category}__{self.name}"

    def source(self, values: Mapping[str, object]) -> str:
        text = self.text
        for placeholder in sorted(values, key=len, reverse=True):
            text = text.replace(placeholder, str(values[placeholder]))
        return text

    def __str__(self) -> str:
        return f"{self.category}/{self.name}"


def programs() -> list[EscapeProgram]:
    return [_read(path) for path in sorted(FOLDER.glob("*/*.py"))]


def groups() -> dict[str, list[EscapeProgram]]:
    """What runs together: one program of each category, or where TIDEGATE_PROVE is set all, by category."""
    every = programs()
    if not os.environ.get("TIDEGATE_PROVE"):
        return {"sample": [one for one in every if one.sampled]}
    categories = sorted({one.category for one in every})
    return {category: [one for one in every if one.category == category] for category in categories}


def _read(path: Path) -> EscapeProgram:
    text = path.read_bytes().decode()  # line ends as they are: some of them are part of the attempt
    header = {}
    for line in text.split("\n"):
        if not line.startswith("# "):
            break
        if match := _HEADER.fullmatch(line):
            header[match[1]] = match[2]
    assert header.get("seeks") in _SEEKS, f"{path}: say in the header what it seeks: {', '.join(_SEEKS)}"
    return EscapeProgram(path.parent.name, path.stem, text, header)
