"""[anomalies] and a model's own threshold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.test_settings import problems_of, settings_of
from tidegate.project.setting_keys import KEYS


def test_without_a_word_every_kind_is_told_from_half_on(tmp_path: Path) -> None:
    assert set(settings_of(tmp_path, "").anomalies.thresholds().values()) == {0.5}


def test_a_kind_may_have_a_threshold_of_its_own_and_a_model_one_for_all(tmp_path: Path) -> None:
    text = '[anomalies]\nthreshold = 1\nmean = 0\nfreshness = "${HOURS}"\n'
    section = settings_of(tmp_path, text, HOURS="2.5").anomalies
    found = section.thresholds()
    assert (found["row_count"], found["mean"], found["freshness"]) == (1, 0, 2.5)
    assert set(section.thresholds(own=0).values()) == {0}


@pytest.mark.parametrize("value", ["-1", '"much"', "true", "inf", "nan", "[1]"])
def test_what_is_no_deviation_is_refused(tmp_path: Path, value: str) -> None:
    (problem,) = problems_of(tmp_path, f"[anomalies]\nthreshold = {value}\n")
    assert problem.startswith(
        "tidegate.toml:2: 'threshold' in [anomalies] must be 0 (off) or a number such as 0.5, not "
    )


def test_a_misspelt_kind_is_told_with_the_right_one(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, "[anomalies]\nnull_shar = 1\n")
    assert problem.endswith("did you mean 'null_share'?")


@pytest.mark.parametrize(("value", "read"), [("0", 0), ("0.25", 0.25), (2, 2), (0.5, 0.5), (" 1 ", 1)])
def test_a_model_may_have_a_threshold(value: object, read: float) -> None:
    assert KEYS["anomaly_threshold"].read(value) == read


@pytest.mark.parametrize("value", ["-1", "half", True, float("inf"), "", "1e3"])
def test_a_threshold_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="must be 0"):
        KEYS["anomaly_threshold"].read(value)
