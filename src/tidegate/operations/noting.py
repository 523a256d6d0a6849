"""Work that is best effort: what goes wrong becomes a line of a report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidegate.errors import TidegateError

__all__ = ["noting"]


@contextmanager
def noting(what: str, errors: list[str]) -> Iterator[None]:
    try:
        yield
    except TidegateError as error:
        place = f" ({error.where})" if error.where else ""
        errors.append(f"{what}: {error}{place}")
    except Exception as error:
        lines = str(error).strip().splitlines()
        errors.append(f"{what}: {type(error).__name__}: {lines[0] if lines else 'no message'}")
