"""A value that a template read under a secret-looking name stands in nothing that a run leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import PLANTED_TOKEN
from tests.projects import ProjectFolder, statuses
from tidegate.hooks.payload import payload_of
from tidegate.redaction import redact

pytestmark = [pytest.mark.spark, pytest.mark.alone]  # the log is that of a session that other tests use

NAME, PLANTED = PLANTED_TOKEN


def test_a_run_leaves_no_secret_behind(shop: ProjectFolder, spark_log: Path) -> None:
    start = spark_log.stat().st_size
    shop.model("bronze.a", f"select id from range(3) where '{{{{ env_var('{NAME}') }}}}' <> 'x'")
    shop.model("silver.b", f"select cast(concat('{{{{ env_var('{NAME}') }}}}', id) as int) as n from bronze.a")
    result = shop.run()
    assert statuses(result) == {"bronze.a": "completed", "silver.b": "failed"}
    failed = next(m for m in result.materializations if m.model == "silver.b")
    assert "***" in redact(str(failed.error))
    held = [str(file) for file in shop.root.rglob("*") if file.is_file() and PLANTED.encode() in file.read_bytes()]
    assert held == []
    log = spark_log.read_bytes()[start:].decode(errors="replace")
    assert "CAST_INVALID_INPUT" in log
    assert PLANTED not in log
    payloads = [payload_of(event, "shop", "run") for event in shop.events]
    assert PLANTED not in repr(payloads)
    assert "***" in repr(payloads)
