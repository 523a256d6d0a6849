"""Faults of the analysis itself are raised in tests, where a user's compilation passes over them."""

from __future__ import annotations

import pytest

from tidegate.compiler.analysis.analyze import RAISE_FAULTS


@pytest.fixture(autouse=True)
def raise_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RAISE_FAULTS, "1")
