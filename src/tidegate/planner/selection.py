"""`silver.orders`, `2+orders+1`, `@orders`, `tag:daily,path:models/gold`, `state:modified` → the selected tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from tidegate.compiler.compiled import Compiled
from tidegate.errors import SelectionError
from tidegate.lake.branch_catalog import Heads
from tidegate.lake.metadata import ViewMetadata, read_metadata
from tidegate.names import TableName, nearest
from tidegate.planner.selector_words import METHODS, STATES
from tidegate.project.model import Materialized

__all__ = ["ModelStates", "ambiguous_name", "read_states", "select", "uses_state"]


@dataclass(frozen=True, slots=True)
class ModelStates:
    """The models that differ from main."""

    new: frozenset[TableName] = frozenset()
    """Main has no table of the model, or one that no run of it wrote."""
    changed: frozenset[TableName] = frozenset()
    """The fingerprint differs from the one that the table records."""

    @property
    def modified(self) -> frozenset[TableName]:
        return self.new | self.changed


def read_states(compiled: Compiled, heads: Heads) -> ModelStates:
    """`heads`: main. Of ephemeral models, which have no table, the readers are modified with them."""
    new, changed = set(), set()
    for table in (table for wave in compiled.waves for table in wave):
        model, pointer = compiled.models[table], heads.get(table)
        metadata = read_metadata(pointer) if pointer is not None else None
        is_view = model.model.settings.materialized is Materialized.VIEW
        if metadata is None or metadata.progress is None or isinstance(metadata, ViewMetadata) is not is_view:
            new.add(table)
        elif metadata.progress.fingerprint != model.fingerprint:
            changed.add(table)
    return ModelStates(frozenset(new), frozenset(changed))


_LIST = "list the models with `tidegate ls`"
_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Selectors:
    """`states` reads what main records; None where the lake is not read."""

    compiled: Compiled
    states: Callable[[], ModelStates] | None = None

    def find(self, selector: str, pattern: str) -> set[TableName]:
        """Raises SelectionError where no model matches, with suggestions. `pattern`: the whole pattern.

        Only a state may be that of no model.
        """
        method, colon, value = selector.partition(":")
        if not colon and "/" in selector:
            method, value = "path", selector
        elif not colon:
            return self._by_name(selector, pattern)
        if method == "tag":
            return self._by_tag(value, pattern)
        if method == "path":
            return self._by_path(value, pattern)
        if method == "state":
            return self._by_state(value, pattern)
        methods = ", ".join(f"{name}:" for name in sorted(METHODS))
        close = _did_you_mean(f"{name}:{value}" for name in nearest(method, METHODS))
        raise SelectionError(
            f"nothing is selected by '{method}:'", where=pattern, remedy=close or f"known are {methods}"
        )

    def _by_name(self, name: str, pattern: str) -> set[TableName]:
        compiled, parts = self.compiled, name.lower().split(".")
        if len(parts) == 1 and name:
            return self._by_last_part(name, pattern)
        if len(parts) == 2:
            parts = [compiled.namespace.lower(), *parts]
        if len(parts) == 3:
            namespace, layer, last = parts
            tables = {
                table
                for table in compiled.models
                if fnmatchcase(table.namespace.lower(), namespace)
                and fnmatchcase(table.layer.lower(), layer)
                and fnmatchcase(table.name.lower(), last)
            }
            if tables:
                return tables
        raise self._no_such_name(name, pattern)

    def _by_last_part(self, name: str, pattern: str) -> set[TableName]:
        """A name without its layer. One with wildcards may mean several models, any other means one."""
        tables = {table for table in self.compiled.models if fnmatchcase(table.name.lower(), name.lower())}
        if not tables:
            raise self._no_such_name(name, pattern)
        if len(tables) > 1 and not _WILD & set(name):
            names = sorted(map(self._short, tables))
            raise ambiguous_name(name, names, where=pattern)
        return tables

    def _by_tag(self, tag: str, pattern: str) -> set[TableName]:
        tags = {table: model.model.settings.tags for table, model in self.compiled.models.items()}
        tables = {table for table, own in tags.items() if any(fnmatchcase(t.lower(), tag.lower()) for t in own)}
        if not tables:
            all_tags = {name for names in tags.values() for name in names}
            close = _did_you_mean(f"tag:{name}" for name in nearest(tag, all_tags))
            raise _nothing(pattern, close or f"tags in use: {', '.join(sorted(all_tags)) or 'none'}")
        return tables

    def _by_path(self, path: str, pattern: str) -> set[TableName]:
        """A file, a folder with all below it, or a pattern of files."""
        location = str(PurePosixPath(path)) if path else ""
        files = {table: model.model.file for table, model in self.compiled.models.items()}
        tables = {t for t, file in files.items() if location == "." or _is_at(file, location)} if location else set()
        if not tables:
            folders = {str(folder) for file in files.values() for folder in PurePosixPath(file).parents}
            close = _did_you_mean(f"path:{name}" for name in nearest(location, {*files.values(), *folders} - {"."}))
            raise _nothing(pattern, close or "paths are relative to the project's folder: path:models/silver")
        return tables

    def _by_state(self, state: str, pattern: str) -> set[TableName]:
        if state not in STATES:
            states = " and ".join(f"state:{name}" for name in STATES)
            close = _did_you_mean(f"state:{name}" for name in nearest(state, STATES))
            raise SelectionError(f"there is no state '{state}'", where=pattern, remedy=close or f"known are {states}")
        if self.states is None:
            message = "a state cannot be selected here, where the lake is not read"
            raise SelectionError(message, where=pattern, remedy="name models, tags or paths")
        return set(getattr(self.states(), state))

    def _no_such_name(self, name: str, pattern: str) -> SelectionError:
        compiled = self.compiled
        if any(name.lower() in (self._short(table).lower(), table.name.lower()) for table in compiled.broken):
            return SelectionError(f"'{name}' has errors", where=pattern, remedy="`tidegate compile` shows them")
        if layers := {table.layer for table in compiled.models if table.layer.lower() == name.lower()}:
            return _nothing(pattern, f"'{name}' is a layer; all its models are '{min(layers)}.*'")
        names = {self._short(table): table for table in compiled.models}
        last = name.rpartition(".")[2].lower()
        close = nearest(name, names) or tuple(sorted(n for n, table in names.items() if table.name.lower() == last)[:3])
        if not close and "." not in name:
            close = nearest(name, {table.name for table in compiled.models})
        return _nothing(pattern, _did_you_mean(close) or _LIST)

    def _short(self, table: TableName) -> str:
        return table.short(self.compiled.namespace)


def _is_at(file: str, path: str) -> bool:
    return file == path or file.startswith(f"{path}/") or fnmatchcase(file, path)


def ambiguous_name(name: str, candidates: Sequence[str], where: str | None = None) -> SelectionError:
    """The error for a name without its layer that several models have."""
    message = f"'{name}' is the name of {len(candidates)} models: {', '.join(candidates)}"
    return SelectionError(message, where=where, remedy=f"Name its layer: {' or '.join(candidates[:3])}.")


def _nothing(pattern: str, remedy: str) -> SelectionError:
    return SelectionError(f"'{pattern}' selects no model", where=pattern, remedy=remedy)


def _did_you_mean(names: Iterable[str]) -> str | None:
    listed = " or ".join(names)
    return f"did you mean {listed}?" if listed else None


_PART = re.compile(r"(?P<at>@)?(?:(?P<up>\d*)\+)?(?P<selector>.*?)(?:\+(?P<down>\d*))?", re.DOTALL)

Edges = Mapping[TableName, Iterable[TableName]]


def select(
    compiled: Compiled,
    patterns: Sequence[str],
    exclude: Sequence[str] = (),
    states: Callable[[], ModelStates] | None = None,
) -> frozenset[TableName]:
    """The tables and views that any of the patterns selects (all without patterns), without those of `exclude`.

    Raises SelectionError where none remains, except for a state: it may have no models. `states` is called only if a
    pattern selects by state.
    """
    built = frozenset(table for wave in compiled.waves for table in wave)
    if not patterns and not exclude:
        return built
    graph = _Graph.of(compiled)
    selectors = Selectors(compiled, states)

    def all_of(pattern: str) -> frozenset[TableName]:
        return _intersection([_part(part, pattern, selectors, graph) for part in pattern.split(",")])

    chosen = set(built) if not patterns else set[TableName]()
    for pattern in (pattern.strip() for pattern in patterns):
        tables = all_of(pattern)
        if not tables and not uses_state([pattern]):
            raise SelectionError(f"no model is in every part of '{pattern}'", where=pattern, remedy="see `tidegate ls`")
        if tables and not tables & built:
            raise _only_ephemeral(pattern)
        chosen |= tables & built
    left = chosen.difference(*(all_of(pattern.strip()) for pattern in exclude))
    if chosen and not left and not uses_state([*patterns, *exclude]):
        message = f"--exclude {' '.join(exclude)} leaves no model of those that are selected"
        raise SelectionError(message, where=", ".join(exclude), remedy="exclude less, or select more")
    return frozenset(left)


def uses_state(patterns: Iterable[str]) -> bool:
    """Whether the selected models depend on the tables on main."""
    return any("state:" in pattern for pattern in patterns)


def _part(part: str, pattern: str, selectors: Selectors, graph: _Graph) -> frozenset[TableName]:
    """The models of one part of an intersection, ephemeral ones too."""
    match = _PART.fullmatch(part.strip())
    assert match is not None  # any text is a selector
    if match["at"] and (match["up"] is not None or match["down"] is not None):
        message = f"'{part.strip()}': @ takes all downstreams and their upstreams, so + has no place beside it"
        raise SelectionError(message, where=pattern, remedy=f"write @{match['selector']}")
    start = selectors.find(match["selector"], pattern)
    if match["at"]:
        around = start | _follow(start, graph.downstream)
        return frozenset(around | _follow(around, graph.upstream))
    tables = set(start)
    if match["up"] is not None:
        tables |= _follow(start, graph.upstream, _depth(match["up"]))
    if match["down"] is not None:
        tables |= _follow(start, graph.downstream, _depth(match["down"]))
    return frozenset(tables)


def _depth(text: str) -> int | None:
    return int(text) if text else None


def _intersection(sets: Sequence[frozenset[TableName]]) -> frozenset[TableName]:
    return sets[0].intersection(*sets[1:])


@dataclass(frozen=True, slots=True)
class _Graph:
    upstream: Edges
    downstream: Edges

    @classmethod
    def of(cls, compiled: Compiled) -> _Graph:
        """Steps are between tables and views. An ephemeral model is part of its readers, and so no step of its own."""
        upstream = {table: (*model.depends_on, *model.inlined) for table, model in compiled.models.items()}
        downstream: dict[TableName, list[TableName]] = {}
        for table, others in upstream.items():
            for other in others:
                downstream.setdefault(other, []).append(table)
        return cls(upstream, downstream)


def _follow(start: Iterable[TableName], edges: Edges, depth: int | None = None) -> set[TableName]:
    """The tables within `depth` steps; None: any number of steps."""
    reached: set[TableName] = set()
    front = list(start)
    while front and (depth is None or depth > 0):
        front = [table for table in dict.fromkeys(t for f in front for t in edges.get(f, ())) if table not in reached]
        reached.update(front)
        depth = None if depth is None else depth - 1
    return reached


def _only_ephemeral(pattern: str) -> SelectionError:
    message = f"'{pattern}' names only ephemeral models, which have no table of their own"
    match = _PART.fullmatch(pattern)
    selector = match["selector"] if match and "," not in pattern else "MODEL"
    return SelectionError(message, where=pattern, remedy=f"select what reads them: {selector}+")
