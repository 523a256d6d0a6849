"""What dbt's templates call and Tidegate's do not: the way it is written here."""

from __future__ import annotations

import re

__all__ = ["hint_for_name", "hint_for_tag"]

_NAMES = {
    "config": "settings are comments above the query: write `-- @materialized: view`, `-- @unique_key: id` and so on",
    "source": "name the table itself: FROM NAME.schema.table for a table of [sources.NAME] in tidegate.toml, "
    "FROM {{ landing_zone('NAME') }} for files",
    "target": "name what differs between environments in [vars] and read it with var(), or give another file with -c",
    "adapter": "templates cannot ask the lake; write the SQL of Spark",
    "run_query": "templates cannot ask the lake; read the table in the query itself",
    "statement": "templates cannot ask the lake; read the table in the query itself",
    "execute": "templates only write text here: leave the condition out",
    "log": "templates cannot print; `tidegate plan --explain` and `tidegate compile` show what comes of them",
    "exceptions": "templates cannot raise errors; write a check or a quality test instead",
    "doc": "write the text itself: `-- @description: …`",
    "dbt_utils": "packages of dbt are not read; put the macro into macros/",
    "dbt": "packages of dbt are not read; put the macro into macros/, or write the function of Spark",
    "invocation_id": "the run's time is run_started_at; a run's id is in the history and the metadata of its tables",
    "model": "the model's own table is {{ this }}",
    "schema": "the model's own table is {{ this }}",
}
_TAGS = {
    "snapshot": "a snapshot is a model with `-- @merge_strategy: scd2` and `-- @unique_key: …`",
    "test": "a quality test is a query in tests/quality/ of its model, a rule of your own a file in checks/",
    "materialization": "choose one of the strategies with `-- @merge_strategy: …`",
    "docs": "write the text as `-- @description: …`",
}
_UNKNOWN_TAG = re.compile(r"unknown tag '(\w+)'")


def hint_for_name(name: str) -> str | None:
    return _NAMES.get(name)


def hint_for_tag(message: str) -> str | None:
    """From the message in which Jinja reports a tag that it does not know."""
    found = _UNKNOWN_TAG.search(message)
    return _TAGS.get(found[1]) if found else None
