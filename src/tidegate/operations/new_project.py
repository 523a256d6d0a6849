"""The smallest project that runs."""

from __future__ import annotations

from pathlib import Path

from tidegate.errors import ProjectError, SetupError

__all__ = ["ProjectExistsError", "write_project"]

_TOML = """\
# The settings of this project. Everything is optional; what is commented out shows the default.
# ${VAR} and ${VAR:-default} are filled in from the environment.

[project]
name = "@name@"
# namespace = "…"                    # first part of every table's name; default: made from the project's name

# [lake]
# warehouse = ".tidegate/warehouse"  # where the tables' files are

# [spark]
# master = "local[*]"
# memory = "2g"

# [run]
# publish = "run"                    # run | wave | model | all
# concurrency = 2                    # models side by side; default: one per core

# [landing]
# root = "landing"                   # landing/<zone>/ holds the raw files of a zone

# [landing.orders]                   # how to read the files of zone orders; left out: found out from the files
# format = "csv"
# header = true
# columns = { id = "bigint", ordered_at = "timestamp" }

# [vars]                             # for var('name') in models; `tidegate run --var name=value` wins
"""

_MODEL = """\
-- @description: An example to begin with: change it, or delete it.
-- @merge_strategy: incremental
-- @unique_key: id

-- With files in landing/<zone>/ this would be: SELECT … FROM {{ landing_zone('<zone>') }}
SELECT
  id,
  name
FROM VALUES
  (1, 'ebb'),
  (2, 'flood') AS tides(id, name)
"""

_TEST = """\
-- @description: Every tide has a name. A test passes when its query returns no rows.
SELECT *
FROM {{ this }}
WHERE name IS NULL
"""

_FILES = {
    "tidegate.toml": _TOML,
    "models/silver/tides/pipeline.sql": _MODEL,
    "models/silver/tides/tests/quality/has_name.sql": _TEST,
    "landing/.gitkeep": "",
    ".gitignore": ".tidegate/\n",
}


def write_project(folder: Path) -> tuple[str, ...]:
    """The names of the files written. Nothing that exists is overwritten."""
    taken = [name for name in ("tidegate.toml", "models") if (folder / name).exists()]
    if taken:
        raise ProjectExistsError(folder, taken[0])
    written = []
    try:
        for name, text in _FILES.items():
            path = folder / name
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("@name@", _toml_text(folder.resolve().name or "lake")), encoding="utf-8")
            written.append(name)
    except OSError as error:
        raise SetupError(
            f"The project cannot be written: {error.strerror}",
            where=str(error.filename or folder),
            remedy="Name a folder that this user may write, on a disk with space.",
        ) from error
    return tuple(written)


def _toml_text(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


class ProjectExistsError(ProjectError):
    def __init__(self, folder: Path, found: str) -> None:
        super().__init__(f"{folder} has a project already: {found} is there")
        self.where = str(folder / found)
        self.remedy = "Name another folder, or work with the project that is there."
