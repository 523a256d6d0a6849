"""Selections are sets: what holds for sets holds for them, whatever the graph is."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.projects import compiled_models
from tidegate.compiler.compiled import Compiled, CompiledModel
from tidegate.errors import SelectionError
from tidegate.names import TableName
from tidegate.planner.selection import ModelStates, select
from tidegate.project.model import Model, ModelSettings

LAYERS = ("bronze", "silver", "gold")


@st.composite
def projects(draw: st.DrawFn) -> tuple[Compiled, ModelStates]:
    """Up to nine models, each reading some of those before it, some with a tag, some modified."""
    tables = [TableName("shop", LAYERS[number % 3], f"m{number}") for number in range(draw(st.integers(1, 9)))]
    models = {}
    for number, table in enumerate(tables):
        reads = tuple(sorted(draw(st.sets(st.sampled_from(tables[:number]), max_size=3)))) if number else ()
        tags = tuple(sorted(draw(st.sets(st.sampled_from(["a", "b"])))))
        model = Model(table, f"models/{table.layer}/{table.name}.sql", "", ModelSettings(tags=tags))
        models[table] = CompiledModel(model, reads, (), (), "", True, False, False, False)
    modified = draw(st.frozensets(st.sampled_from(tables)))
    return compiled_models(models, (tuple(tables),)), ModelStates(changed=modified)


NAMES = st.sampled_from(
    [*(f"m{number}" for number in range(9)), "silver.*", "m*", "tag:a", "tag:b", "path:models/gold", "state:modified"]
)
PATTERNS = st.builds(
    lambda before, name, after: f"{before}{name}{after}",
    st.sampled_from(["", "+", "1+", "2+"]),
    NAMES,
    st.sampled_from(["", "+", "+1", "+2"]),
)


def tables_of(
    project: tuple[Compiled, ModelStates], patterns: list[str], exclude: tuple[str, ...] = ()
) -> frozenset[TableName]:
    """What is refused because nothing is meant is the empty set here."""
    compiled, states = project
    try:
        return select(compiled, patterns, exclude, lambda: states)
    except SelectionError:
        return frozenset()


@given(projects(), PATTERNS, PATTERNS)
def test_a_comma_intersects_and_two_patterns_unite(project: tuple[Compiled, ModelStates], one: str, other: str) -> None:
    first, second = tables_of(project, [one]), tables_of(project, [other])
    assert tables_of(project, [f"{one},{other}"]) == first & second
    if first and second:
        assert tables_of(project, [one, other]) == first | second


@given(projects(), PATTERNS, PATTERNS)
def test_exclude_is_the_difference(project: tuple[Compiled, ModelStates], one: str, other: str) -> None:
    first, second = tables_of(project, [one]), tables_of(project, [other])
    if second:
        assert tables_of(project, [one], (other,)) == first - second
        assert tables_of(project, [], (other,)) == tables_of(project, []) - second


@given(projects(), NAMES)
def test_more_steps_reach_more(project: tuple[Compiled, ModelStates], name: str) -> None:
    ups = [tables_of(project, [f"{before}{name}"]) for before in ("0+", "1+", "2+", "+")]
    downs = [tables_of(project, [f"{name}{after}"]) for after in ("+0", "+1", "+2", "+")]
    for sets in (ups, downs):
        assert sets[0] == tables_of(project, [name])
        assert all(less <= more for less, more in pairwise(sets))
    assert tables_of(project, [f"+{name}+"]) == ups[-1] | downs[-1]


@given(projects(), NAMES)
def test_at_is_what_the_downstreams_need(project: tuple[Compiled, ModelStates], name: str) -> None:
    downstream = tables_of(project, [f"{name}+"])
    needed = [tables_of(project, [f"+{table.layer}.{table.name}"]) for table in downstream]
    assert tables_of(project, [f"@{name}"]) == frozenset().union(*needed)


@given(projects(), NAMES)
def test_one_step_up_is_one_step_down_from_there(project: tuple[Compiled, ModelStates], name: str) -> None:
    start = tables_of(project, [name])
    for table in tables_of(project, [f"1+{name}"]) - start:
        assert tables_of(project, [f"{table.layer}.{table.name}+1"]) & start
