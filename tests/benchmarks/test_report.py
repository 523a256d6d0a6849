"""The page of benchmarks: what was measured is new, the rest stays; a target that was missed is seen."""

from __future__ import annotations

from benchmarks.compiling import Case, targets
from benchmarks.idle import idle_targets
from benchmarks.report import compile_section, idle_section, page, profile_section, source_section
from benchmarks.usage import Usage

MEASURED = {
    Case(1_000, "cold", "tidegate"): Usage(2.5, 4.5, 150),
    Case(1_000, "warm", "tidegate"): Usage(0.6, 0.6, 90),
    Case(10_000, "cold", "tidegate"): Usage(20, 40, 500),
    Case(10_000, "warm", "tidegate"): Usage(2.2, 2.1, 300),
    Case(10_000, "cold", "dbt"): Usage(80, 79, 900),
    Case(10_000, "warm", "dbt"): Usage(30, 29, 1_000),
}


def test_a_page_keeps_the_sections_that_were_not_measured() -> None:
    before = page("", ["## Commands\n\nold time\n", "## Memory\n\nold memory\n"])
    after = page(before, ["## Commands\n\nnew time\n"])
    assert "new time" in after
    assert "old memory" in after
    assert "old time" not in after
    assert page(after, []) == after


def test_sizes_and_ratio_are_told() -> None:
    section = compile_section(MEASURED, 3)
    assert "| 10,000 | cold | 20.00 | 40.00 | 500 | 80.00 | 79.00 | 900 | 0.250 |" in section
    assert "| 1,000 | warm | 0.60 | 0.60 | 90 | – | – | – | – |" in section
    assert "median of 3 rounds" in section


def test_only_what_was_missed_is_called_missed() -> None:
    assert [target.about for target in targets(MEASURED) if not target.met] == ["10,000 models, warm, CPU"]
    assert compile_section(MEASURED, 1).count("**missed**") == 1


def test_without_dbt_nothing_is_compared_with_it() -> None:
    own = {case: usage for case, usage in MEASURED.items() if case.side == "tidegate"}
    assert not [target.about for target in targets(own) if "dbt" in target.about]


def test_a_run_with_nothing_to_do_is_held_to_its_time_and_to_dbt() -> None:
    quick, slow, dbt = Usage(0.9, 0.9, 90), Usage(1.6, 1.5, 90), Usage(12, 20, 900)
    assert all(target.met for target in idle_targets({"tidegate": [quick, slow, quick], "dbt": [dbt] * 3}))
    assert [target.met for target in idle_targets({"tidegate": [slow], "dbt": [dbt]})] == [False, False]
    assert len(idle_targets({"tidegate": [quick]})) == 1
    assert "| 1 | 1.60 | 1.50 | 90 | 12.00 | 20.00 | 900 |" in idle_section({"tidegate": [slow], "dbt": [dbt]})
    assert "| 1 | 1.60 | 1.50 | 90 | – | – | – |" in idle_section({"tidegate": [slow]})


def test_a_profile_is_held_to_a_tenth_of_the_write() -> None:
    assert "**missed**" not in profile_section({"plain": [10.0, 9.0, 11.0], "profiled": [10.9, 9.9, 12.5]}, 2_000_000)
    slow = profile_section({"plain": [10.0], "profiled": [11.1]}, 2_000_000)
    assert "| 1 | 10.00 | 11.10 |" in slow
    assert "**missed**" in slow


def test_a_read_in_batches_is_held_to_twice_a_plain_one() -> None:
    assert "**missed**" not in source_section({"plain": [10.0], "batched": [19.9]}, 2_000_000)
    slow = source_section({"plain": [10.0], "batched": [20.1]}, 2_000_000)
    assert "| 1 | 10.00 | 20.10 |" in slow
    assert "**missed**" in slow
    assert "## Sources" in page("", [slow])


def test_every_part_has_its_place_on_the_page() -> None:
    section = profile_section({"plain": [10.0], "profiled": [11.1]}, 2_000_000)
    assert "## Profiles" in page("", [section])
    assert "## Checks" in page("", ["## Checks\n\nfound\n"])
