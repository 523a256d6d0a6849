"""The history of runs holds no value of a secret-looking name."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import create_engine, inspect, text

from tests.state.test_history_round_trip import NOON, a_check, a_model_run, a_run
from tidegate.redaction import register
from tidegate.state import AnomalyRecord, EventRecord, open_state

PLANTED = "planted-77aa10"
SAID = f"cannot cast '{PLANTED}' to int"


def test_no_table_of_the_state_holds_a_secret(url: str) -> None:
    register(PLANTED, "API_TOKEN")
    with open_state(url) as store:
        store.start_run(a_run())
        store.add_model_run(
            a_model_run(reason=SAID, error=SAID, where=SAID, remedy=SAID, attempts=({"error": SAID, "n": 1},))
        )
        store.add_check(
            replace(a_check(expected=SAID, error=SAID, description=SAID, remediation=SAID), samples=({"x": SAID},))
        )
        store.add_event(
            EventRecord("run-1", NOON, "warning", "silver.orders", {"message": SAID, "deep": [{"a": SAID}]})
        )
        store.add_anomaly(AnomalyRecord("run-1", "silver.orders", "rows", "", NOON, 1.0, 2.0, 3.0, SAID))
        result = {"error": SAID, "models": [{"error": SAID}]}
        store.finish_run("run-1", "failed", finished_at=NOON, duration_ms=5, result=result, error=SAID)
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        rows = {
            table: [tuple(map(str, row)) for row in connection.execute(text(f'SELECT * FROM "{table}"'))]
            for table in inspect(engine).get_table_names()
        }
    engine.dispose()
    assert PLANTED not in repr(rows)
    for table in ("runs", "model_runs", "quality_results", "events", "anomalies"):
        assert "cannot cast '***' to int" in repr(rows[table]).replace("\\'", "'"), table
