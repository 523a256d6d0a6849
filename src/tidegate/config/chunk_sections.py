"""Reads `[chunks]` and `[chunks.sources.NAME]`. Environment variables win over keys."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from tidegate.config.chunk_settings import CHUNK_VARIABLES, ChunkSource, ChunksSection
from tidegate.config.paths import local_path
from tidegate.config.section_reader import FromEnvironment, Section
from tidegate.names import why_not_a_name

__all__ = ["read_chunks"]

_S3 = re.compile(r"s3a?://[^/]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def read_chunks(section: Section, env: Mapping[str, str], root: Path) -> ChunksSection:
    variables = _Variables(section, env)
    default = ChunksSection()
    chunks = ChunksSection(
        root=_root(section, root),
        format=section.choice("format", ("delta", "iceberg"), default.format),
        default_chunk_size=variables.whole("default_chunk_size", default.default_chunk_size, 1),
        delta_client_batch_size=variables.whole("delta_client_batch_size", default.delta_client_batch_size, 1),
        delta_client_write_retries=variables.whole("delta_client_write_retries", default.delta_client_write_retries),
        delta_client_write_retry_delay=variables.seconds(
            "delta_client_write_retry_delay", default.delta_client_write_retry_delay
        ),
        delta_client_write_retry_backoff=variables.number(
            "delta_client_write_retry_backoff", default.delta_client_write_retry_backoff, "a number of 1 or more", 1
        ),
        delta_client_write_retry_max_delay=variables.seconds(
            "delta_client_write_retry_max_delay", default.delta_client_write_retry_max_delay
        ),
        delta_client_write_retry_jitter=variables.seconds(
            "delta_client_write_retry_jitter", default.delta_client_write_retry_jitter
        ),
        delta_vacuum_retention_hours=variables.whole(
            "delta_vacuum_retention_hours", default.delta_vacuum_retention_hours
        ),
        delta_target_file_mb=variables.whole("delta_target_file_mb", default.delta_target_file_mb, 1),
        delta_change_feed=section.boolean("delta_change_feed", default.delta_change_feed),
        sources=_sources(section),
    )
    section.finish()
    return chunks


class _Variables:
    """Numbers of the section, or of the environment variables that are called as their keys in upper case."""

    def __init__(self, section: Section, env: Mapping[str, str]) -> None:
        self._section = section
        given = {key: env[name] for name, key in CHUNK_VARIABLES.items() if env.get(name, "").strip()}
        table = {name.upper(): FromEnvironment(value.strip()) for name, value in given.items()}
        self._environment = _Environment(section.document, section.path, table)
        self._given = frozenset(given)

    def whole(self, key: str, default: int, least: int = 0) -> int:
        own = self._section.integer(key, default, least)
        return self._environment.integer(key.upper(), own, least) if key in self._given else own

    def seconds(self, key: str, default: float) -> float:
        return self.number(key, default, "a number of seconds, 0 or more", 0)

    def number(self, key: str, default: float, expected: str, least: float) -> float:
        def accepts(value: float) -> bool:
            return least <= value < math.inf

        own = self._section.number(key, default, expected, accepts)
        return self._environment.number(key.upper(), own, expected, accepts) if key in self._given else own


class _Environment(Section):
    def _name(self, key: str) -> str:
        return f"environment variable {key}"


def _root(section: Section, root: Path) -> str:
    text = section.text("root", ".")
    if found := _S3.match(text):
        if "@" in found[0]:  # the value is not shown
            section.report(
                "root", "'root' in [chunks] must be s3://bucket/prefix, without keys: it is shown and recorded"
            )
        return text.rstrip("/")
    if _SCHEME.match(text) and not text.startswith("file:"):
        section.wrong("root", "a folder, or s3://bucket/prefix", text)
        return text
    return str(local_path(section, "root", ".", root))


def _sources(section: Section) -> dict[str, ChunkSource]:
    sources = {}
    for name, table in section.table_of("sources").items():
        path = (*section.path, "sources", name)
        if reason := why_not_a_name(name):
            section.document.report(path, f"'{name}' cannot be a source, which is the name of a table: {reason}")
            continue
        sources[name] = _source(Section(section.document, path, table), name)
    return sources


def _source(section: Section, name: str) -> ChunkSource:
    source = ChunkSource(
        name,
        pattern=_pattern(section, name),
        contract=section.text("contract", None),
        model=section.text("model", None),
        primary_key=section.texts("primary_key"),
        partition_key=section.text("partition_key", None),
        z_order=section.texts("z_order"),
        delimiter=_delimiter(section),
    )
    title = f"[{'.'.join(section.path)}]"
    if source.contract is None and source.model is None:
        section.document.report(
            section.path, f"{title} must have 'contract' (an ODCS file) or 'model' (a pydantic class)"
        )
    elif source.contract is not None and source.model is not None:
        section.report("model", f"{title} has a contract and a model: keep one of them")
    if source.model is not None and not _CLASS.fullmatch(source.model):
        section.wrong("model", "a class as in 'shop.orders:Order'", source.model)
    if source.model is not None and not source.primary_key:
        section.report("primary_key", f"{title} must have 'primary_key', the columns that identify a row of its model")
    if len({column.lower() for column in source.primary_key}) < len(source.primary_key):
        section.report("primary_key", f"'primary_key' in {title} names a column twice")
    section.finish()
    return source


def _pattern(section: Section, name: str) -> str:
    pattern = section.text("pattern", f"{name}/**")
    parts = pattern.split("/")
    if pattern.startswith("/") or ".." in parts or "" in parts:
        section.wrong("pattern", "relative to bronze/, such as 'orders/*.json', or the name of a file", pattern)
    return pattern


def _delimiter(section: Section) -> str | None:
    value = section.raw("delimiter")
    if value is None or (isinstance(value, str) and len(value) == 1 and value not in '"\r\n'):
        return value
    section.wrong("delimiter", "one character", value)
    return None
