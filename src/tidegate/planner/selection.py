"""`silver.orders`, `2+orders+1`, `@orders`, `tag:daily,path:models/gold` → the tables that are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidegate.compiler import Compiled
from tidegate.errors import SelectionError
from tidegate.names import TableName
from tidegate.planner.model_states import ModelStates
from tidegate.planner.selectors import Selectors

__all__ = ["select", "uses_state"]

_PART = re.compile(r"(?P<at>@)?(?:(?P<up>\d*)\+)?(?P<selector>.*?)(?:\+(?P<down>\d*))?", re.DOTALL)

Edges = Mapping[TableName, Iterable[TableName]]


def select(
    compiled: Compiled,
    patterns: Sequence[str],
    exclude: Sequence[str] = (),
    states: Callable[[], ModelStates] | None = None,
) -> frozenset[TableName]:
    """The tables and views that the patterns name together, all where there are none, less those of `exclude`.

    Raises SelectionError where nothing is left, but for states: that no model is modified is an answer. `states` is
    called only where a pattern asks for one.
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
    """Whether what the patterns mean depends on the tables on main."""
    return any("state:" in pattern for pattern in patterns)


def _part(part: str, pattern: str, selectors: Selectors, graph: _Graph) -> frozenset[TableName]:
    """The models of one part of an intersection, ephemeral ones too."""
    match = _PART.fullmatch(part.strip())
    assert match is not None  # anything is a selector
    if match["at"] and (match["up"] is not None or match["down"] is not None):
        message = f"'{part.strip()}': @ takes all downstreams and their upstreams, so + has no place beside it"
        raise SelectionError(message, where=pattern, remedy=f"write @{match['selector']}")
    named = selectors.find(match["selector"], pattern)
    if match["at"]:
        around = named | _follow(named, graph.downstream)
        return frozenset(around | _follow(around, graph.upstream))
    tables = set(named)
    if match["up"] is not None:
        tables |= _follow(named, graph.upstream, _depth(match["up"]))
    if match["down"] is not None:
        tables |= _follow(named, graph.downstream, _depth(match["down"]))
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
    """What can be reached in at most `depth` steps; None: in any number."""
    seen: set[TableName] = set()
    front = list(start)
    while front and (depth is None or depth > 0):
        front = [table for table in dict.fromkeys(t for f in front for t in edges.get(f, ())) if table not in seen]
        seen.update(front)
        depth = None if depth is None else depth - 1
    return seen


def _only_ephemeral(pattern: str) -> SelectionError:
    message = f"'{pattern}' names only ephemeral models, which have no table of their own"
    match = _PART.fullmatch(pattern)
    selector = match["selector"] if match and "," not in pattern else "MODEL"
    return SelectionError(message, where=pattern, remedy=f"select what reads them: {selector}+")
