"""Masks: column tags that make values unreadable when the table is written, and the SQL for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tidegate.datatypes import ANY, STRING, DataType
from tidegate.names import literal, nearest, quote
from tidegate.problems import Place, Problem, Severity, did_you_mean
from tidegate.redaction import Secret

__all__ = [
    "BUILT_IN_MASKS",
    "MASKS_FOLDER",
    "PII",
    "PUBLIC",
    "ColumnMask",
    "has_tag",
    "mask_files",
    "masks_of",
    "read_masks",
    "unknown_masks",
]

BUILT_IN_MASKS = ("hash_pii", "mask_email", "mask_ssn", "redact")
PII, PUBLIC = "pii", "public"
COLUMN = "{column}"
MASKS_FOLDER = "masks"

Tags = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ColumnMask:
    """`sql`: the expression of a mask of the project's own, in which `{column}` stands for the column.

    `required`: the model itself names the column, so its query must give it; a folder may tag columns that only some of
    its models have.
    """

    column: str
    name: str
    sql: str | None = None
    salt: Secret | None = None
    required: bool = True

    def expression(self, column: str, *, is_text: bool) -> str:
        """Over a column called `column`. NULL stays NULL."""
        name = quote(column)
        if self.sql is not None:
            return f"(\n{self.sql.replace(COLUMN, name)}\n)"
        text = name if is_text else f"CAST({name} AS STRING)"
        match self.name:
            case "mask_email":
                local, domain = f"substring_index({text}, '@', 1)", f"substring_index({text}, '@', -1)"
                whole = f"concat(substring({local}, 1, 1), '***@', {domain})"
                return f"CASE WHEN {text} IS NULL THEN NULL WHEN instr({text}, '@') > 0 THEN {whole} ELSE '***' END"
            case "mask_ssn":
                digits = f"regexp_replace({text}, '[^0-9]', '')"
                last_four = f"IF(length({digits}) < 4, '****', right({digits}, 4))"
                return f"IF({text} IS NULL, NULL, concat('***-**-', {last_four}))"
            case "hash_pii":
                salted = f"concat({literal(self.salt.reveal())}, {text})" if self.salt else text
                return f"sha2({salted}, 256)"
            case _:
                # The branch that is never evaluated gives NULL the column's type.
                return f"IF({name} IS NULL, NULL, '[redacted]')" if is_text else f"IF(true, NULL, {name})"

    def type_of(self, kind: DataType) -> DataType:
        """What a column of type `kind` becomes."""
        if self.sql is not None:
            return ANY
        return kind if self.name == "redact" else STRING

    @property
    def definition(self) -> tuple[str, ...]:
        """Equal where the same values come out."""
        salt = self.salt.reveal() if self.salt and self.name == "hash_pii" else ""
        return self.column.lower(), self.name, self.sql or "", salt


def has_tag(tags: Tags, column: str, tag: str) -> bool:
    return any(name.lower() == column.lower() and tag in map(str.lower, words) for name, words in tags.items())


def masks_of(
    tags: Tags, own: Mapping[str, str], required: Iterable[str] = (), salt: Secret | None = None
) -> tuple[ColumnMask, ...]:
    """The masks that the tags of a model's columns name; `own`: the project's masks; `required`: in lower case."""
    needed = frozenset(required)
    masks: dict[tuple[str, str], ColumnMask] = {}
    for column, words in tags.items():
        for word in map(str.lower, words):
            if word in BUILT_IN_MASKS or word in own:
                mask = ColumnMask(column, word, own.get(word), salt, column.lower() in needed)
                masks.setdefault((column.lower(), word), mask)
    return tuple(masks.values())


def mask_files(root: Path) -> list[str]:
    """Relative to the project."""
    try:
        names = sorted(os.listdir(root / MASKS_FOLDER))
    except OSError:
        return []
    return [f"{MASKS_FOLDER}/{name}" for name in names if name.endswith(".sql") and not name.startswith((".", "__"))]


def read_masks(files: Iterable[tuple[str, str]]) -> tuple[dict[str, str], list[Problem]]:
    """`masks/<name>.sql`: a mask's expression by its name, from paths and texts."""
    own: dict[str, str] = {}
    problems = []
    for path, text in files:
        name, sql = PurePosixPath(path).stem.lower(), text.strip().removesuffix(";").rstrip()
        if name in (*BUILT_IN_MASKS, PII, PUBLIC):
            message, fix = f"'{name}' is taken: it has a meaning already", "rename the file"
        else:
            own[name] = sql
            if COLUMN in sql:
                continue
            message, fix = f"the expression does not hold {COLUMN}", "write for example upper(left({column}, 2))"
        problems.append(Problem("InvalidMask", message, Place(path), suggestion=fix))
    return own, problems


def unknown_masks(tags: Tags, own: Iterable[str], places: Mapping[str, Place]) -> list[Problem]:
    """Words that look like a mask but are not: the column would be written unmasked."""
    masks = (*BUILT_IN_MASKS, *own)
    problems = []
    for column, words in tags.items():
        for word in words:
            if word.lower() in masks or word.lower() in (PII, PUBLIC):
                continue
            near = nearest(word, masks)
            if near or word.lower().startswith(("mask_", "hash_")):
                fix = did_you_mean(near) or f"known are {', '.join(masks)}; another is a file masks/{word.lower()}.sql"
                message = f"'{word}' is no mask, so column '{column}' is written as it is"
                place = places[column.lower()]
                problems.append(Problem("UnknownMask", message, place, severity=Severity.WARN, suggestion=fix))
    return problems
