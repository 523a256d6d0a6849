"""The jars that one project needs beside those of all."""

from __future__ import annotations

from tidegate.config import Settings
from tidegate.spark.jars import Jar, drivers_of
from tidegate.spark.s3a import S3A_JARS, uses_s3
from tidegate.spark.table_formats import formats_of

__all__ = ["connection_jars", "jars_of"]


def connection_jars(settings: Settings) -> tuple[Jar, ...]:
    """Drivers of databases, and what reads and writes files on S3."""
    return (*drivers_of(settings), *(S3A_JARS if uses_s3(settings) else ()))


def jars_of(settings: Settings) -> tuple[Jar, ...]:
    of_formats = tuple(jar for table_format in formats_of(settings) for jar in table_format.jars)
    return (*connection_jars(settings), *of_formats)
