"""What deltas cost beside a full rebuild: shares and growth are held against what was promised."""

from __future__ import annotations

from benchmarks.deltas import CELLS, MODELS, Cell, Took, delta_targets, models
from benchmarks.report import delta_section

SMALL, LARGE, WIDE = Cell(5_000_000, 5), Cell(20_000_000, 5), Cell(3_000_000, 25)
MEASURED = {
    SMALL: {"filter": Took(2, 1, True), "left join": Took(5, 1, True), "GROUP BY": Took(2, 1, True)},
    LARGE: {"filter": Took(8, 1.6, True), "left join": Took(20, 1.5, True), "GROUP BY": Took(8, 1.5, True)},
    WIDE: {"filter": Took(10, 2, True), "left join": Took(10, 2.1, True), "GROUP BY": Took(10, 1, True)},
}


def test_shares_and_growth_have_their_limits() -> None:
    missed = [target.about for target in delta_targets(MEASURED) if not target.met]
    assert missed == ["3 million rows of 25 columns, left join", "filter, 20 million rows against 5"]
    assert len(delta_targets(MEASURED)) == 11


def test_the_plan_must_choose_the_cheaper_way_in_nine_of_ten_cells() -> None:
    slow = {model: Took(1, 1.05, True) for model in MODELS}
    *_, worst, dearer = delta_targets({**MEASURED, WIDE: slow})
    assert (round(worst.value), worst.met) == (105, True)
    assert (dearer.value, dearer.met) == (3, False)
    *_, worst, dearer = delta_targets({**MEASURED, WIDE: {model: Took(1, 1.5, False) for model in MODELS}})
    assert (worst.value, dearer.value) == (100, 0)


def test_what_was_not_measured_is_not_judged() -> None:
    assert [t.unit for t in delta_targets({LARGE: MEASURED[LARGE]})] == [*[" %"] * 4, ""]
    assert not [t for t in delta_targets({SMALL: MEASURED[SMALL]}) if "million" in t.about]


def test_every_size_that_was_promised_is_measured() -> None:
    assert {SMALL, LARGE, WIDE} <= set(CELLS)


def test_the_page_shows_both_ways_and_the_share() -> None:
    section = delta_section(MEASURED, 3)
    assert "| 20,000,000 | 5 | filter | 8.00 | 1.60 | 20% | delta |" in section
    assert section.count("**missed**") == 2


def test_wide_models_have_all_columns_of_the_table() -> None:
    assert set(models(25)) == set(MODELS)
    assert models(25)["filter"].count("more") == 20
    assert models(25)["GROUP BY"].count("max(more") == 20
