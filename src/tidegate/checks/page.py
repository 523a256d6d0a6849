"""The tables of docs/checks.md, written from the registry by `python -m tidegate.checks.page FILE`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tidegate.checks.audits import AUDITS
from tidegate.checks.constraints import CONSTRAINTS
from tidegate.checks.keyed import KEYED_ONLY
from tidegate.checks.kinds import CheckKind
from tidegate.checks.warnings import WARNINGS

__all__ = ["with_tables"]

_TABLES = {"constraints": CONSTRAINTS, "audits": AUDITS, "warnings": WARNINGS, "keyed": KEYED_ONLY}
_MARKED = re.compile(r"<!-- (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def with_tables(page: str) -> str:
    """The page with what the code says between `<!-- constraints -->` and `<!-- end -->`, and so on."""

    def table(mark: re.Match[str]) -> str:
        lines = "\n".join(_table(_TABLES[mark[1]]))
        return f"<!-- {mark[1]} -->\n{lines}\n<!-- end -->"

    return _MARKED.sub(table, page)


def _table(kinds: Iterable[CheckKind]) -> Iterator[str]:
    yield "| check | meaning | NULL | no rows | example |"
    yield "|---|---|---|---|---|"
    for kind in kinds:
        nulls = kind.nulls.removeprefix("NULL ")
        cells = (_signature(kind), kind.meaning, nulls, kind.empty, f"`{kind.example}`")
        yield f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _signature(kind: CheckKind) -> str:
    if not kind.keyed:
        return f"`{kind.signature}`"
    return f"`{kind.name}` with {', '.join(f'`{parameter.name}`' for parameter in kind.parameters)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_tables(file.read_text("utf-8")), "utf-8")
