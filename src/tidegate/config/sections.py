"""One function per section of tidegate.toml."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

from tidegate.config.file_formats import READERS
from tidegate.config.paths import local_path
from tidegate.config.section_reader import SIZE, Section, unknown_key
from tidegate.config.settings import (
    AnomaliesSection,
    ContractsSection,
    LandingSection,
    LintsSection,
    MaintenanceSection,
    MaskingSection,
    ProjectSection,
    ReaperSection,
    RunSection,
    SparkSection,
    ZoneSettings,
)
from tidegate.names import why_not_a_name
from tidegate.redaction import Secret

__all__ = [
    "read_anomalies",
    "read_contracts",
    "read_landing",
    "read_lints",
    "read_maintenance",
    "read_masking",
    "read_project",
    "read_reaper",
    "read_run",
    "read_spark",
    "read_table",
]

_ORPHANS = "orphan_branch_max_age_hours"


def read_project(section: Section, root: Path) -> ProjectSection:
    name = section.text("name", None) or root.name or "tidegate"
    namespace = section.text("namespace", None)
    if namespace is not None and (reason := why_not_a_name(namespace)):
        section.report("namespace", f"'{namespace}' cannot be a namespace: {reason}")
        namespace = None
    section.finish()
    return ProjectSection(name=name, namespace=namespace or _namespace_of(name))


def _namespace_of(name: str) -> str:
    safe = re.sub(r"\W+", "_", name.lower()).strip("_") or "default"
    return safe if why_not_a_name(safe) is None else f"lake_{safe}"


def read_spark(section: Section) -> SparkSection:
    default = SparkSection()
    memory = section.text("memory", default.memory)
    if not SIZE.fullmatch(memory):
        section.report("memory", f"'memory' in [spark] must be a size such as 2g or 800m, not '{memory}'")
    spark = SparkSection(
        master=section.text("master", default.master),
        memory=memory,
        conf=_conf(section, section.table_of("conf"), ()),
        functions=section.texts("functions"),
        allow_code=section.boolean("allow_code", default.allow_code),
        keep_alive=_keep_alive(section),
    )
    section.finish()
    return spark


def _keep_alive(section: Section) -> timedelta | None:
    value = section.raw("keep_alive")
    if value in (0, "0", "off") or value is False:
        return timedelta()
    return None if value is None else section.duration("keep_alive", timedelta())


def _conf(section: Section, table: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, str]:
    """Spark's settings have dotted names, which TOML without quotes reads as tables in tables."""
    conf: dict[str, str] = {}
    for key, value in table.items():
        parts = (*path, key)
        if isinstance(value, dict):
            conf |= _conf(section, value, parts)
        elif isinstance(value, bool):
            conf[".".join(parts)] = str(value).lower()
        elif isinstance(value, str | int | float):
            conf[".".join(parts)] = str(value)
        else:
            where = (*section.path, "conf", *parts)
            section.document.report(where, f"'{'.'.join(parts)}' in [spark.conf] must be text, a number or true/false")
    return conf


def read_run(section: Section) -> RunSection:
    default = RunSection()
    concurrency = section.raw("concurrency")
    if concurrency == "auto":
        section.report(
            "concurrency", "concurrency 'auto' is not supported by this version; write a number or leave it out"
        )
    run = RunSection(
        publish=section.choice("publish", ("run", "wave", "model", "all"), default.publish),
        concurrency=None if concurrency == "auto" else section.integer("concurrency", None, least=1),
        fail_fast=section.boolean("fail_fast", default.fail_fast),
        profiles=section.boolean("profiles", default.profiles),
        isolation=section.choice("isolation", ("snapshot", "serializable"), default.isolation),
        test_timeout=section.duration("test_timeout", default.test_timeout),
        dropped_column_grace=section.duration("dropped_column_grace", default.dropped_column_grace),
        verify_every=section.integer("verify_every", None, least=1),
        retries=section.integer("retries", default.retries),
        retry_max_delay=section.duration("retry_max_delay", default.retry_max_delay),
        timeout=section.duration("timeout", timedelta()) or None,
        model_timeout=section.duration("model_timeout", timedelta()) or None,
        max_concurrency=section.integer("max_concurrency", default.max_concurrency, least=1),
        cooldown_seconds=section.integer("cooldown_seconds", default.cooldown_seconds),
        breaker_failures=section.integer("breaker_failures", default.breaker_failures, least=1),
        breaker_pause=section.duration("breaker_pause", default.breaker_pause),
        error_rate_abort=section.number(
            "error_rate_abort", None, "a share above 0 and up to 1, such as 0.5", lambda value: 0 < value <= 1
        ),
        error_rate_models=section.integer("error_rate_models", default.error_rate_models, least=1),
        memory_limit=section.size("memory_limit", None),
    )
    section.raw("budget")  # [run.budget] is read on its own
    section.finish()
    return run


def read_contracts(section: Section, root: Path) -> ContractsSection:
    contracts = ContractsSection(
        location=local_path(section, "location", "contracts", root),
        files_root=local_path(section, "files_root", ".", root),
        absolute_paths=section.boolean("absolute_paths", False),
    )
    section.finish()
    return contracts


def read_landing(section: Section, root: Path) -> LandingSection:
    folder = local_path(section, "root", "landing", root)
    zones = {}
    for name, table in section.table.items():
        if name == "root":
            continue
        if not isinstance(table, dict):
            section.report(name, unknown_key(name, " in [landing]", ("root",)))
            continue
        zones[name] = _zone(Section(section.document, (*section.path, name), table))
    return LandingSection(root=folder, zones=zones)


ENCODINGS = ("utf-8", "utf-16", "iso-8859-1", "iso-8859-15", "windows-1250", "windows-1251", "windows-1252")
"""Of CSV files: names that Python and Java share."""


def _zone(section: Section) -> ZoneSettings:
    columns: dict[str, str] | None = None
    if "columns" in section.table:
        columns = {}
        for name, kind in section.table_of("columns").items():
            if isinstance(kind, str) and kind.strip():
                columns[name] = str(kind)
            else:
                path = (*section.path, "columns", name)
                section.document.report(
                    path, f"column '{name}' of [{'.'.join(section.path)}] must name a type, such as 'bigint'"
                )
    zone = ZoneSettings(
        format=section.choice("format", READERS, None),
        header=section.boolean("header", None),
        multiline=section.boolean("multiline", None),
        delimiter=_delimiter(section),
        columns=columns,
        encoding=section.choice("encoding", ENCODINGS, None),
        escape=section.choice("escape", ('"', "\\"), None),
        bad_records="quarantine"
        if section.choice("bad_records", ("fail", "quarantine"), None) == "quarantine"
        else None,
    )
    section.finish()
    return zone


def _delimiter(section: Section) -> str | None:
    value = section.raw("delimiter")
    if value is None or (isinstance(value, str) and value):
        return value
    section.wrong("delimiter", "the text between two fields, such as ';'", value)
    return None


def read_lints(section: Section) -> LintsSection:
    default = LintsSection()
    levels = ("off", "info", "warning", "error")
    lints = LintsSection(
        blast_radius=section.choice("blast_radius", levels, default.blast_radius),
        freshness_coverage=section.choice("freshness_coverage", levels, default.freshness_coverage),
    )
    section.finish()
    return lints


def read_maintenance(section: Section) -> MaintenanceSection:
    default = MaintenanceSection()
    maintenance = MaintenanceSection(
        after_run=section.boolean("after_run", default.after_run),
        compact=section.boolean("compact", default.compact),
        small_file_mb=section.integer("small_file_mb", default.small_file_mb, least=1),
        min_small_files=section.integer("min_small_files", default.min_small_files, least=2),
        expire=section.boolean("expire", default.expire),
        keep_snapshots=section.integer("keep_snapshots", default.keep_snapshots, least=1),
        keep_days=section.integer("keep_days", default.keep_days),
        sweep=section.boolean("sweep", default.sweep),
        sweep_min_age_hours=section.integer("sweep_min_age_hours", default.sweep_min_age_hours, least=24),
    )
    if section.raw(_ORPHANS) is not None:
        section.report(_ORPHANS, f"'{_ORPHANS}' is not in [maintenance] any more: write it in [reaper]")
    section.finish()
    return maintenance


def read_reaper(section: Section) -> ReaperSection:
    default = ReaperSection()
    orphans = section.integer(_ORPHANS, None, least=1)
    longer = section.integer(f"nessie_{_ORPHANS}", None, least=1)
    if orphans is not None and longer is not None:
        section.report(
            f"nessie_{_ORPHANS}", f"'nessie_{_ORPHANS}' in [reaper] is another name of '{_ORPHANS}': keep one"
        )
    reaper = ReaperSection(
        stuck_run_timeout_minutes=section.integer(
            "stuck_run_timeout_minutes", default.stuck_run_timeout_minutes, least=2
        ),
        pending_run_timeout_hours=section.integer(
            "pending_run_timeout_hours", default.pending_run_timeout_hours, least=1
        ),
        orphan_branch_max_age_hours=orphans or longer or default.orphan_branch_max_age_hours,
    )
    section.finish()
    return reaper


def read_masking(section: Section) -> MaskingSection:
    salt = section.text("salt", None)
    if salt is not None and not salt.strip():
        section.report("salt", "'salt' in [masking] must not be empty: leave it out, or set it to a long random text")
    section.finish()
    return MaskingSection(Secret(salt) if salt else None)


def read_table(section: Section) -> Mapping[str, Any]:
    """[defaults] and [vars] hold what others understand."""
    return dict(section.table)


def read_anomalies(section: Section) -> AnomaliesSection:
    def deviation(key: str, default: float | None) -> float | None:
        return section.number(key, default, "0 (off) or a number such as 0.5", lambda value: 0 <= value < math.inf)

    default = AnomaliesSection()
    threshold = deviation("threshold", default.threshold)
    kinds = [field.name for field in fields(AnomaliesSection) if field.name != "threshold"]
    own = {kind: deviation(kind, None) for kind in kinds}
    section.finish()
    return AnomaliesSection(default.threshold if threshold is None else threshold, **own)
