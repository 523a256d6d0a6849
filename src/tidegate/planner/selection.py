"""`silver.orders`, `+silver.orders`, `silver.orders+`, `silver.*`, `tag:daily` → the tables that are meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from tidegate.compiler import Compiled
from tidegate.errors import SelectionError
from tidegate.names import TableName, nearest

__all__ = ["select"]


def select(compiled: Compiled, patterns: Sequence[str]) -> frozenset[TableName]:
    """The tables and views that the patterns name together; all where there are none."""
    built = frozenset(table for wave in compiled.waves for table in wave)
    if not patterns:
        return built
    return frozenset().union(*(_select_one(compiled, pattern.strip(), built) for pattern in patterns))


def _select_one(compiled: Compiled, pattern: str, built: frozenset[TableName]) -> frozenset[TableName]:
    core = pattern.removeprefix("+").removesuffix("+")
    named = _by_tag(compiled, core[4:]) if core.startswith("tag:") else _by_name(compiled, core)
    if not named:
        raise _nothing(compiled, pattern, core)
    upstream = {table: (*model.depends_on, *model.inlined) for table, model in compiled.models.items()}
    chosen = set(named)
    if pattern.startswith("+"):
        chosen |= _follow(named, upstream)
    if pattern.endswith("+"):
        chosen |= _follow(named, _reversed(upstream))
    if not chosen & built:
        message = f"'{pattern}' names only ephemeral models, which have no table of their own"
        raise SelectionError(message, where=pattern, remedy=f"select what reads them: {core}+")
    return frozenset(chosen & built)


def _by_name(compiled: Compiled, core: str) -> set[TableName]:
    parts = core.lower().split(".")
    if len(parts) == 2:
        parts = [compiled.namespace.lower(), *parts]
    if len(parts) != 3:
        return set()
    namespace, layer, name = parts
    return {
        table
        for table in compiled.models
        if fnmatchcase(table.namespace.lower(), namespace)
        and fnmatchcase(table.layer.lower(), layer)
        and fnmatchcase(table.name.lower(), name)
    }


def _by_tag(compiled: Compiled, tag: str) -> set[TableName]:
    return {
        table
        for table, compiled_model in compiled.models.items()
        if any(fnmatchcase(own.lower(), tag.lower()) for own in compiled_model.model.settings.tags)
    }


def _follow(start: Iterable[TableName], edges: Mapping[TableName, Iterable[TableName]]) -> set[TableName]:
    seen: set[TableName] = set()
    waiting = list(start)
    while waiting:
        for table in edges.get(waiting.pop(), ()):
            if table not in seen:
                seen.add(table)
                waiting.append(table)
    return seen


def _reversed(edges: Mapping[TableName, Iterable[TableName]]) -> dict[TableName, list[TableName]]:
    turned: dict[TableName, list[TableName]] = {}
    for table, others in edges.items():
        for other in others:
            turned.setdefault(other, []).append(table)
    return turned


def _nothing(compiled: Compiled, pattern: str, core: str) -> SelectionError:
    if core.startswith("state:"):
        remedy: str | None = "selecting by state is not supported by this version"
    elif core.startswith("tag:"):
        tags = {tag for compiled_model in compiled.models.values() for tag in compiled_model.model.settings.tags}
        remedy = _meant(nearest(core[4:], tags), "tag:") or f"tags in use: {', '.join(sorted(tags)) or 'none'}"
    else:
        names = sorted(table.short(compiled.namespace) for table in compiled.models)
        by_last_part = tuple(name for name in names if name.rpartition(".")[2].lower() == core.lower())
        remedy = _meant(nearest(core, names) or by_last_part) or "list the models with `tidegate ls`"
    return SelectionError(f"'{pattern}' selects no model", where=pattern, remedy=remedy)


def _meant(names: tuple[str, ...], prefix: str = "") -> str | None:
    return f"did you mean {' or '.join(prefix + name for name in names)}?" if names else None
