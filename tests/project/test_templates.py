from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.config import ZoneSettings
from tidegate.names import TableName
from tidegate.project.model import Strategy
from tidegate.project.rendering import Templates
from tidegate.project.template_names import MacroFile, Rendered, TemplateContext, TemplateProblem

CONTEXT = TemplateContext(
    TableName("shop", "silver", "orders"), "shop", Strategy.SCD2, "2026-01-01", vars={"country": "SE"}, env={"A": "1"}
)


def render(source: str, *macros: str, context: TemplateContext = CONTEXT) -> str:
    files = [MacroFile(f"macros/{i}.sql", text) for i, text in enumerate(macros)]
    result = Templates(files).render(source, "f.sql", context)
    assert isinstance(result, Rendered), result
    return result.text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ ref('silver.orders') }}", "silver.orders"),
        ("{{ ref('crm.silver.my-table') }}", "crm.silver.`my-table`"),
        ("{{ this }}", "silver.orders"),
        ("{{ run_started_at }}", "2026-01-01"),
        ("{{ watermark_value is none }} {{ is_incremental() }}", "True False"),
        (
            "{{ is_scd2() }} {{ is_snapshot() }} {{ is_append_only() }} {{ is_delete_insert() }}",
            "True False False False",
        ),
        ("{{ var('country') }} {{ var('x', 3) }}", "SE 3"),
        ("{{ env_var('A') }} {{ env_var('B', '2') }}", "1 2"),
        ("a\r\nb\n", "a\nb\n"),
    ],
)
def test_names_of_templates(source: str, expected: str) -> None:
    assert render(source) == expected


def test_this_in_another_namespace_is_named_in_full() -> None:
    context = replace(CONTEXT, table=TableName("crm", "silver", "people"))
    assert render("{{ this }}", context=context) == "crm.silver.people"


def test_macros_know_the_model_and_each_other_in_any_order() -> None:
    first = "{% macro a() %}a{{ b() }}{{ c(1) }}{% endmacro %}{% macro b() %}b{{ this }}{% endmacro %}"
    second = "{% macro c(x) %}c{{ x }}{{ is_scd2() }}{% endmacro %}"
    assert render("{{ a() }}", first, second) == "absilver.ordersc1True"
    assert render("{{ a() }}", second, first) == "absilver.ordersc1True"


def test_landing_zones_become_placeholders_with_their_settings() -> None:
    source = "{{ landing_zone('a', format='csv', header=true, columns={'x': 'int'}) }} {{ landing_zone('b') }}"
    result = Templates().render(source, "f.sql", CONTEXT)
    assert isinstance(result, Rendered)
    first, second = result.landings
    assert result.text == f"{first.placeholder} {second.placeholder}"
    assert (first.zone, first.settings) == ("a", ZoneSettings("csv", True, columns={"x": "int"}))
    assert (second.zone, second.settings) == ("b", ZoneSettings())


@pytest.mark.parametrize(
    "source",
    [
        "\n{{ landing_zone('a', format='xls') }}",
        "\n{{ landing_zone('a', heder=true) }}",
        "\n{{ landing_zone('a', header='yes') }}",
        "\n{{ landing_zone(3) }}",
        "\n{{ ref('orders') }}",
        "\n{{ nothing.here }}",
        "\n{% include 'other.sql' %}",
        "\n{{ ().__class__.__bases__[0].__subclasses__() }}",
        "\n{% for x in range(10000000) %}{% endfor %}",
    ],
)
def test_faults_say_file_and_line(source: str) -> None:
    result = Templates().render(source, "f.sql", CONTEXT)
    assert isinstance(result, TemplateProblem)
    assert (result.place.file, result.place.line) == ("f.sql", 2)
    assert "TemplateNames" not in result.message


def test_an_endless_macro_is_a_fault() -> None:
    result = Templates([MacroFile("m.sql", "{% macro a() %}{{ a() }}{% endmacro %}")]).render(
        "{{ a() }}", "f.sql", CONTEXT
    )
    assert isinstance(result, TemplateProblem)
    assert "without end" in result.message


def test_names_are_seen_through_macros() -> None:
    first = MacroFile("a.sql", "{% macro recent() %}{{ newer() }}{% endmacro %}")
    second = MacroFile("b.sql", "{% macro newer() %}{% if is_incremental() %}x{% endif %}{% endmacro %}")
    templates = Templates([first, second])
    assert "is_incremental" in templates.names_used("{{ recent() }}")
    assert "is_incremental" not in templates.names_used("{# is_incremental() #} 'is_incremental' {{ this }}")


def test_names_in_directives_are_text() -> None:
    source = "-- @description: newer than {{ watermark_value }}\nselect {{ this }}"
    assert Templates().names_used(source) == {"this"}
    assert render(source).splitlines()[1] == "select silver.orders"


@pytest.mark.parametrize(
    ("source", "way"),
    [
        ("{{ config(materialized='view') }}", "-- @materialized: view"),
        ("{{ source('raw', 'orders') }}", "[sources.NAME]"),
        ("{{ target.name }}", "var()"),
        ("{% if execute %}{% endif %}{{ execute }}", "leave the condition out"),
        ("{{ dbt_utils.star(ref('a.b')) }}", "macros/"),
        ("{% snapshot orders %}{% endsnapshot %}", "scd2"),
        ("{% test positive(model) %}{% endtest %}", "tests/quality"),
    ],
)
def test_words_of_dbt_come_with_the_way_it_is_written_here(source: str, way: str) -> None:
    result = Templates().render(source, "f.sql", CONTEXT)
    assert isinstance(result, TemplateProblem)
    assert way in (result.suggestion or "")
