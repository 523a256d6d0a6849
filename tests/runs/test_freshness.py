"""`@freshness` is asked of the table: a warning after the publish, or an audit that closes the gate."""

from __future__ import annotations

import pytest

from tests.projects import ProjectFolder, statuses

pytestmark = pytest.mark.spark


def test_old_rows_are_reported_and_an_audit_holds_them_back(shop: ProjectFolder) -> None:
    old = "SELECT 1 AS id, TIMESTAMP '2020-01-01 00:00:00' AS at"
    shop.model("silver.warned", old, freshness="at 24h")
    shop.model("silver.held", old, freshness="at 24h audit")
    shop.model("silver.fresh", "SELECT 1 AS id, current_timestamp() AS at", freshness="at 24h audit")
    result = shop.run()
    assert statuses(result) == {"silver.fresh": "completed", "silver.held": "failed", "silver.warned": "completed"}
    found = {check.model: (check.name, check.status, check.severity) for check in result.check_results}
    assert found == {
        "silver.warned": ("freshness(at, 24h)", "warned", "warn"),
        "silver.held": ("freshness(at, 24h)", "failed", "error"),
        "silver.fresh": ("freshness(at, 24h)", "passed", "error"),
    }
    assert sorted(result.publish.tables) == ["silver.fresh", "silver.warned"]
