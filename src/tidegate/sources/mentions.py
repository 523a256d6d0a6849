"""Which sources a project's texts mention: one that none does need not be asked, so it may be down or slow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

__all__ = ["mentioned"]


def mentioned(names: Collection[str], texts: Iterable[str]) -> frozenset[str]:
    """The names that stand before a dot somewhere. Comments count too: asking once too often does no harm."""
    waiting = {name: (name.lower(), re.compile(rf"(?<!\w)`?{re.escape(name.lower())}`?\s*\.")) for name in names}
    for text in texts:
        if not waiting:
            break
        lowered = text.lower()
        # Most texts do not have the word at all, which is found much faster than the pattern.
        found = [n for n, (word, pattern) in waiting.items() if word in lowered and pattern.search(lowered)]
        for name in found:
            del waiting[name]
    return frozenset(names) - waiting.keys()
