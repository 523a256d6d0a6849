"""Commands and options of dbt, and of programs in general, with what they are called here."""

from __future__ import annotations

__all__ = ["COMMANDS_ELSEWHERE", "hint_for_option"]

COMMANDS_ELSEWHERE = {
    "build": "`tidegate run` builds the models, checks them and publishes them",
    "seed": "put the file into landing/NAME/ and read it in a model with {{ landing_zone('NAME') }}",
    "docs": "`tidegate show MODEL` and `tidegate lineage MODEL` describe the models, `tidegate ls --json` lists them",
    "debug": "`tidegate doctor` checks this machine and this project",
    "deps": "there are no packages to install: macros are files in macros/",
    "snapshot": "a snapshot is a model with `-- @merge_strategy: scd2`, and `tidegate run` builds it",
    "source": "`tidegate ls --sources` lists the tables of the sources",
    "freshness": "`tidegate check` runs the checks of published tables",
    "list": "`tidegate ls` lists the models",
    "parse": "`tidegate compile` reports everything that is wrong with the project",
    "lint": "`tidegate compile` reports everything that is wrong with the project",
    "validate": "`tidegate compile` reports everything that is wrong with the project",
    "clean": "`tidegate maintain` removes files that no table needs; .tidegate/ holds the lake, so do not delete it",
    "retry": "`tidegate run --resume-latest` goes on with the latest run",
    "run-operation": "macros are called by models only; a command of your own may be a hook ([[hooks]])",
    "clone": "every run works on a branch of its own; `tidegate run --no-publish` keeps it",
    "audit": "`tidegate check` runs the checks of published tables",
    "query": '`tidegate sql "SELECT …"` queries the published tables',
    "evaluate": "`tidegate preview MODEL` shows rows of a published table",
    "status": "`tidegate history` lists the runs, `tidegate plan` shows what would run",
    "help": "`tidegate --help` lists the commands, `tidegate COMMAND --help` explains one",
    "version": "`tidegate --version` shows it",
}
"""Each value is the rest of a sentence that begins with "There is no command …"."""

_OPTIONS = {
    ("--models", "--model", "-m"): "--select SELECT (or -s)",
    ("--selector",): "--select SELECT, with tags for what belongs together",
    ("--vars",): "--var name=value, once for each variable",
    ("--target", "-t", "--profile"): "-c FILE: another tidegate.toml for another environment",
    ("--profiles-dir",): "-c FILE: connections are in tidegate.toml",
    ("--project-dir",): "--project DIR",
    ("--threads",): "--concurrency N",
    ("--state", "--defer", "--favor-state"): "--select state:modified, which compares with main",
    ("--target-path", "--log-path"): "[lake] and [state] in tidegate.toml, which set where files are",
    ("--no-use-colors",): "--no-color",
    ("--use-colors",): "a terminal: colors are used there unless --no-color is given",
    ("--log-level", "--log-format", "--log-level-file"): "--quiet, --verbose or --json",
    ("--output",): "--json",
    ("--event-time-start",): "--from TIME",
    ("--event-time-end",): "--to TIME",
    ("-x",): "--fail-fast",
    ("-f",): "--full-refresh",
    ("--store-failures",): "--json, which has samples of the rows, or `-- @quarantine: true`",
    ("--resource-type", "--resource-types"): "--select with a tag or a path",
    ("--indirect-selection", "--empty", "--sample", "--partial-parse", "--no-partial-parse"): "nothing: leave it out",
}
_HINTS = {name: hint for names, hint in _OPTIONS.items() for name in names}


def hint_for_option(name: str) -> str | None:
    hint = _HINTS.get(name)
    return f"Use {hint}." if hint else None
