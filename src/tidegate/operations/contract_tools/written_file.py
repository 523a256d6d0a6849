"""A file that a command writes for a person."""

from __future__ import annotations

from pathlib import Path

from tidegate.errors import OptionsError

__all__ = ["write_file"]


def write_file(file: Path, text: str, overwrite: bool) -> None:
    """Refuses to replace a file, unless it may `overwrite` it. Makes the folders above it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w" if overwrite else "x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError as error:
        raise OptionsError(
            f"'{file}' is there already", where=str(file), remedy="Name another file with --output, or add --force."
        ) from error
    except OSError as error:
        raise OptionsError(f"'{file}' cannot be written: {error.strerror or error}", where=str(file)) from error
