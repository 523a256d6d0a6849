"""The tables of checks and strategies in the docs, written by `python -m tidegate.project.docs_tables FILE…`."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidegate.checks.audits import AUDITS
from tidegate.checks.check_kinds import CheckKind
from tidegate.checks.constraints import CONSTRAINTS
from tidegate.checks.keyed import KEYED_ONLY
from tidegate.checks.warnings import WARNINGS
from tidegate.project.model import Materialized
from tidegate.project.setting_keys import SPELLINGS
from tidegate.project.strategies import STRATEGIES, StrategyTraits

__all__ = ["meanings", "with_tables"]


_CHECKS = {"constraints": CONSTRAINTS, "audits": AUDITS, "warnings": WARNINGS, "keyed": KEYED_ONLY}
_MARKED = re.compile(r"<!-- (\w+) -->\n.*?<!-- end -->", re.DOTALL)
_IN_OTHER_TABLES = ("summary", "refused_key")


def with_tables(page: str) -> str:
    """The page with what the code declares between `<!-- traits -->` and `<!-- end -->`, and so on."""
    tables = {"strategies": _strategies, "traits": _traits, "meanings": _meanings, "refused": _refused}

    def write(mark: re.Match[str]) -> str:
        name = mark[1]
        lines = "\n".join(_check_table(_CHECKS[name]) if name in _CHECKS else tables[name]())
        return f"<!-- {mark[1]} -->\n{lines}\n<!-- end -->"

    return _MARKED.sub(write, page)


def meanings() -> Mapping[str, str]:
    """What each trait means: the text under its field."""
    (declared,) = ast.parse(inspect.getsource(StrategyTraits)).body
    assert isinstance(declared, ast.ClassDef)
    texts = {}
    for statement, following in zip(declared.body, [*declared.body[1:], None], strict=True):
        if isinstance(statement, ast.FunctionDef):
            texts[statement.name] = ast.get_docstring(statement) or ""
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = following.value if isinstance(following, ast.Expr) else None
            texts[statement.target.id] = str(text.value) if isinstance(text, ast.Constant) else ""
    return texts


def _strategies() -> Iterator[str]:
    yield from _header("strategy", "what it does to the table")
    for name, traits in STRATEGIES.items():
        others = [
            f"`{spelling}`"
            for spelling, kind in SPELLINGS.items()
            if kind.strategy == name and kind.materialized is Materialized.TABLE and spelling != name
        ]
        yield _row([f"`{name}`" + (f", also {', '.join(others)}" if others else ""), traits.summary])
    yield _row(["`view`", "is an Iceberg view"])


def _traits() -> Iterator[str]:
    yield from _header("", *STRATEGIES)
    for name in meanings():
        if name not in _IN_OTHER_TABLES:
            yield _row([_words(name), *(_cell(getattr(traits, name)) for traits in STRATEGIES.values())])


def _meanings() -> Iterator[str]:
    yield from _header("", "meaning")
    yield from (_row([_words(name), text]) for name, text in meanings().items() if name not in _IN_OTHER_TABLES)


def _refused() -> Iterator[str]:
    yield from _header("strategy", "")
    yield from (_row([f"`{name}`", traits.refused_key]) for name, traits in STRATEGIES.items())


def _header(*cells: str) -> Iterator[str]:
    yield _row(cells)
    yield "|---" * len(cells) + "|"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "–"
    if isinstance(value, tuple):
        return ", ".join(f"`{setting}`" for setting in value) or "–"
    return str(value or "–")


def _check_table(kinds: Iterable[CheckKind]) -> Iterator[str]:
    yield "| check | meaning | NULL | no rows | example |"
    yield "|---|---|---|---|---|"
    for kind in kinds:
        nulls = kind.nulls.removeprefix("NULL ")
        cells = (_signature(kind), kind.meaning, nulls, kind.empty, f"`{kind.example}`")
        yield f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _signature(kind: CheckKind) -> str:
    if not kind.keyed:
        return f"`{kind.signature}`"
    return f"`{kind.name}` with {', '.join(f'`{parameter.name}`' for parameter in kind.parameters)}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        file.write_text(with_tables(file.read_text("utf-8")), "utf-8")
