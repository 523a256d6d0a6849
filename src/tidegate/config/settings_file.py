"""Reads tidegate.toml into `Settings`, or raises a ConfigError that lists every problem."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidegate.config.chunk_sections import read_chunks
from tidegate.config.hook_sections import read_budget, read_callback, read_hooks
from tidegate.config.s3_settings import read_s3
from tidegate.config.sandbox_settings import read_sandbox
from tidegate.config.section_reader import Document, Section, substitute_variables
from tidegate.config.sections import (
    read_anomalies,
    read_contracts,
    read_landing,
    read_lints,
    read_maintenance,
    read_masking,
    read_project,
    read_reaper,
    read_run,
    read_spark,
    read_table,
)
from tidegate.config.settings import Settings
from tidegate.config.source_sections import read_sources
from tidegate.config.stores import read_lake, read_state
from tidegate.errors import ConfigError
from tidegate.names import nearest
from tidegate.problems import toml_reason

__all__ = ["FILE_NAME", "find_project", "load_settings"]

FILE_NAME = "tidegate.toml"

_SECTIONS = (
    "project",
    "lake",
    "spark",
    "state",
    "defaults",
    "run",
    "landing",
    "contracts",
    "anomalies",
    "lints",
    "maintenance",
    "masking",
    "reaper",
    "sources",
    "vars",
    "hooks",
    "callback",
    "chunks",
    "sandbox",
    "s3",
)
_LATER_SECTIONS = ("server",)
_NO_PROJECT = "name a folder that has one with --project DIR, or make a project with `tidegate init DIR`"


def find_project(start: Path) -> Path:
    """The folder with tidegate.toml: `start` or the nearest one above it."""
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder
    raise ConfigError(f"no {FILE_NAME} in {start} or any folder above it", where=str(start), remedy=_NO_PROJECT)


def load_settings(root: Path, file: Path | None = None, env: Mapping[str, str] | None = None) -> Settings:
    """`file` names another file than `root`'s tidegate.toml; its relative paths are relative to `root` all the same."""
    root = root.absolute()
    path = (root / FILE_NAME) if file is None else file.absolute()
    text = _read(path)
    document = Document(_display(path, root), text)
    raw = _parse(document, path)
    env = os.environ if env is None else env
    tables = substitute_variables(raw, env, document.report)
    _check_sections(tables, document)

    def section(name: str, later: tuple[str, ...] = ()) -> Section:
        return Section(document, (name,), tables.get(name, {}), later)

    project = read_project(section("project"), root)
    settings = Settings(
        root=root,
        file=path,
        project=project,
        lake=read_lake(section("lake"), raw.get("lake", {}), root),
        spark=read_spark(section("spark", ("remote",))),
        state=read_state(section("state"), raw.get("state", {}), root),
        run=read_run(section("run", ("retries", "timeouts", "on_failure"))),
        landing=read_landing(section("landing"), root),
        contracts=read_contracts(section("contracts"), root),
        maintenance=read_maintenance(section("maintenance")),
        defaults=read_table(section("defaults")),
        vars=read_table(section("vars")),
        sources=read_sources(section("sources"), raw.get("sources"), root, project.namespace),
        lints=read_lints(section("lints")),
        anomalies=read_anomalies(section("anomalies")),
        masking=read_masking(section("masking")),
        reaper=read_reaper(section("reaper")),
        hooks=read_hooks(document, tables.get("hooks", []), raw.get("hooks")),
        callback=read_callback(section("callback"), raw.get("callback")),
        budget=read_budget(section("run")),
        chunks=read_chunks(section("chunks"), env, root),
        s3=read_s3(section("s3"), env),
        sandbox=read_sandbox(section("sandbox")),
    )
    if document.problems:
        count = len(document.lines())
        what = "a problem" if count == 1 else f"{count} problems"
        raise ConfigError(f"{document.name} has {what}", problems=document.lines(), where=str(path))
    return settings


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ConfigError(f"there is no {path.name} in {path.parent}", where=str(path), remedy=_NO_PROJECT) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        problem = f"{path.name}:{line}: the file is not UTF-8 text"
        raise ConfigError(
            f"{path.name} is not UTF-8 text",
            problems=[problem],
            where=f"{path}:{line}",
            remedy="save the file as UTF-8",
        ) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"cannot read {path}: {reason}", where=str(path), remedy="make the file readable") from None


def _parse(document: Document, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(document.text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = int(at[1]) if at else document.text.count("\n") + 1
        reason, fix = toml_reason(error)
        problem = f"{document.name}:{line}: not valid TOML: {reason}"
        raise ConfigError(
            f"{document.name} is not valid TOML",
            problems=[problem],
            where=f"{path}:{line}",
            remedy=fix or 'Write sections as [name] and settings as key = value, with text in quotes: name = "shop".',
        ) from None


def _check_sections(tables: Mapping[str, Any], document: Document) -> None:
    for name in tables:
        if name in _SECTIONS:
            continue
        if name in _LATER_SECTIONS:
            document.report((name,), f"[{name}] is not supported by this version; remove the section")
            continue
        hint = nearest(name, (*_SECTIONS, *_LATER_SECTIONS), 1)
        suggestion = f"did you mean [{hint[0]}]?" if hint else f"known are {', '.join(f'[{s}]' for s in _SECTIONS)}"
        document.report((name,), f"unknown section [{name}]; {suggestion}")


def _display(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
