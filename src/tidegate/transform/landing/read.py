"""The way into a zone: one call, whatever its files are. Free of pyspark, which costs start-up time, until called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.config import ZoneSettings
from tidegate.errors import LandingError
from tidegate.project.landing_files import ZoneFile
from tidegate.transform.landing.failures import explain_read_error
from tidegate.transform.landing.raw import SECTION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.transform.landing.delivery import ZoneFrame

__all__ = ["read_zone"]


def read_zone(
    session: SparkSession,
    folder: Path,
    files: Sequence[ZoneFile],
    settings: ZoneSettings,
    known_columns: str | None = None,
    in_order: bool = False,
) -> ZoneFrame:
    """The rows of exactly these files; `in_order`: by file, as they are given, and by line.

    Declared columns win: those and no others are read, as those types. Otherwise columns and types come from all of
    the files, joined with the columns known from earlier deliveries (DDL), which keep their place and, while the new
    values fit, their type.
    """
    from tidegate.transform.landing.delivery import read_delivery

    try:
        return read_delivery(session, folder, files, settings, known_columns, in_order)
    except LandingError as error:
        _name_section(error, folder.name)
        raise
    except Exception as error:
        explained = explain_read_error(error, files) or _unfit_types(error, folder)
        if explained is None:
            raise
        raise explained from error


def _name_section(error: LandingError, zone: str) -> None:
    section = SECTION.replace("ZONE", zone)
    error.where = error.where and error.where.replace(SECTION, section)
    error.remedy = error.remedy and error.remedy.replace(SECTION, section)


def _unfit_types(error: Exception, folder: Path) -> LandingError | None:
    condition = getattr(error, "getCondition", lambda: None)() or ""
    if not condition.startswith(("DATATYPE_MISMATCH", "UNSUPPORTED_DATA_TYPE")):
        return None
    why = re.sub(r"^\[[\w.]+\] |\s*SQLSTATE: \w+;?", "", str(error).split("\n")[0])
    return LandingError(
        f"the files of landing zone '{folder.name}' cannot be read as the declared types: {why}",
        where=f"[landing.{folder.name}] columns",
        remedy="declare the types that the files have, and cast in the model",
    )
