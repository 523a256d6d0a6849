"""Accepts the public surface as it is now: `python -m tests.record_surface` rewrites tests/cases/surface."""

from __future__ import annotations

from tests.surface.lists import LISTS, changes, derive, record


def main() -> None:
    for name in LISTS:
        lines = derive(name)
        added, removed = changes(name, lines)
        record(name, lines)
        for sign, entries in (("-", removed), ("+", added)):
            for entry in entries:
                print(f"{sign} {name}: {entry}")


if __name__ == "__main__":
    main()
