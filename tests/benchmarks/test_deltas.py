"""What deltas cost beside a full rebuild: shares and growth are held against what was promised."""

from __future__ import annotations

from benchmarks.deltas import CELLS, MODELS, Cell, Took, delta_targets, models
from benchmarks.report import delta_section

SMALL, LARGE, WIDE = Cell(5_000_000, 5), Cell(20_000_000, 5), Cell(3_000_000, 25)
MEASURED = {
    SMALL: {"filter": Took(2, 1), "left join": Took(5, 1), "GROUP BY": Took(2, 1)},
    LARGE: {"filter": Took(8, 1.6), "left join": Took(20, 1.5), "GROUP BY": Took(8, 1.5)},
    WIDE: {"filter": Took(10, 2), "left join": Took(10, 2.1), "GROUP BY": Took(10, 1)},
}


def test_shares_and_growth_have_their_limits() -> None:
    missed = [target.about for target in delta_targets(MEASURED) if not target.met]
    assert missed == ["3 million rows of 25 columns, left join", "filter, 20 million rows against 5"]
    assert len(delta_targets(MEASURED)) == 9


def test_what_was_not_measured_is_not_judged() -> None:
    assert [t.unit for t in delta_targets({LARGE: MEASURED[LARGE]})] == [" %"] * 3
    assert delta_targets({SMALL: MEASURED[SMALL]}) == []


def test_every_size_that_was_promised_is_measured() -> None:
    assert {SMALL, LARGE, WIDE} <= set(CELLS)


def test_the_page_shows_both_ways_and_the_share() -> None:
    section = delta_section(MEASURED, 3)
    assert "| 20,000,000 | 5 | filter | 8.00 | 1.60 | 20% |" in section
    assert section.count("**missed**") == 2


def test_wide_models_have_all_columns_of_the_table() -> None:
    assert set(models(25)) == set(MODELS)
    assert models(25)["filter"].count("more") == 20
