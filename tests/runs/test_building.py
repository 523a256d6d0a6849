"""What a publish that fails says of main."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.projects import FakeClock
from tidegate.config import RunSection, SparkSection
from tidegate.errors import FailureKind, LakeUnavailableError
from tidegate.names import TableName
from tidegate.results import ModelResult
from tidegate.runs import building
from tidegate.runs.context import Phases
from tidegate.runs.options import RunOptions
from tidegate.runs.tally import ModelOutcome, Tally

BUILT = ModelOutcome(ModelResult("silver.a", "completed", "full_refresh", "full", "first run"))


@pytest.mark.parametrize(
    ("kind", "in_doubt"),
    [
        (FailureKind.CONNECTION_FAILED, True),
        (FailureKind.TRANSIENT, True),
        (FailureKind.AUTH_FAILED, False),
        (FailureKind.QUOTA_EXCEEDED, False),
    ],
)
def test_only_where_the_lake_did_not_answer_nobody_knows_whether_main_has_moved(
    monkeypatch: pytest.MonkeyPatch, kind: FailureKind, in_doubt: bool
) -> None:
    def refuse(*_: object) -> None:
        error = LakeUnavailableError("the catalog said no", remedy="Ask")
        error.kind = kind
        raise error

    monkeypatch.setattr(building, "publish_tables", refuse)
    settings = SimpleNamespace(run=RunSection(), spark=SparkSection())
    run: Any = SimpleNamespace(options=RunOptions(), settings=settings, check_record=lambda: None, publish_mode="run")
    tally = Tally()
    assert building.Building(run, Phases(FakeClock()), tally, ())._publish({TableName("s", "silver", "a"): BUILT}) == ()
    assert (tally.in_doubt, str(tally.error)) == (in_doubt, "the catalog said no")
    assert ("not built a second time" in str(tally.error and tally.error.remedy)) == in_doubt
