"""Read a zone, whatever the formats of its files. pyspark, which costs start-up time, is imported when it is called."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.compiler.table_columns import SOURCE_FILE
from tidegate.config import ZoneSettings
from tidegate.errors import LandingError
from tidegate.project.landing_files import ZoneFile
from tidegate.transform.landing.delivery import Delivery
from tidegate.transform.landing.landing_errors import explain_read_error
from tidegate.transform.landing.raw import SECTION
from tidegate.write.request import BadRecords

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.transform.landing.zone_frame import ZoneFrame

__all__ = ["bad_records_of", "read_zone", "union_bad_records"]


def read_zone(
    session: SparkSession,
    folder: Path,
    files: Sequence[ZoneFile],
    settings: ZoneSettings,
    known_columns: str | None = None,
    in_order: bool = False,
    delivery: Delivery | None = None,
) -> ZoneFrame:
    """The rows of exactly these files; `in_order`: by file, as they are given, and by line. Only a raw zone, whose
    values are texts, needs the `delivery`, which its rows name.

    Declared columns win: those and no others are read, as those types. Otherwise columns and types come from all of
    the files, joined with the columns known from earlier deliveries (DDL), which keep their place and, while the new
    values fit, their type.
    """
    from tidegate.transform.landing.bronze_read import read_bronze
    from tidegate.transform.landing.zone_frame import read_delivery

    try:
        if settings.raw:
            if delivery is None:
                raise ValueError(f"the raw landing zone '{folder.name}' is read for no delivery")
            return read_bronze(session, folder, files, settings, known_columns, in_order, delivery)
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


def bad_records_of(
    session: SparkSession, folder: Path, zone: str, records: DataFrame | None, new: Sequence[ZoneFile]
) -> BadRecords:
    """A file is named by its zone and its path there. `records` None: there are no bad ones."""
    from pyspark.sql import functions as f

    from tidegate.transform.landing.zone_source import BAD_RECORD_SCHEMA

    names = frozenset(f"{zone}/{file.path}" for file in new)
    if records is None:
        return BadRecords(session.createDataFrame([], BAD_RECORD_SCHEMA), names)
    inside = len(os.path.abspath(folder)) + 1
    name = f.concat(f.lit(f"{zone}/"), f.substr(f.col(SOURCE_FILE), f.lit(inside + 1)))
    return BadRecords(records.withColumn(SOURCE_FILE, name), names)


def union_bad_records(every: Iterable[BadRecords]) -> BadRecords | None:
    batches = list(every)
    if not batches:
        return None
    frame = reduce(lambda one, other: one.union(other), (batch.frame for batch in batches))
    return BadRecords(frame, frozenset[str]().union(*(batch.new_files for batch in batches)))
