"""One run in which each of four models does the least that is right: skip, backfill, incremental, full."""

from __future__ import annotations

import io
import re

import pytest

from tests.projects import ProjectFolder
from tidegate.cli.console import PlainView, RunConsole

pytestmark = pytest.mark.spark


def test_four_models_each_get_the_least_work(shop: ProjectFolder) -> None:
    shop.model("raw.orders", "SELECT id AS order_id, id * 10 AS amount FROM range(10)")
    shop.model("raw.customers", "SELECT id AS customer_id FROM range(20)")
    shop.model(
        "raw.events",
        "SELECT * FROM {{ landing_zone('events') }}",
        merge_strategy="append_only",
    )
    shop.model(
        "staging.orders",
        "SELECT order_id, status, at FROM raw.events"
        "{% if is_incremental() %} WHERE at > TIMESTAMP '{{ watermark_value }}'{% endif %}",
        merge_strategy="incremental",
        unique_key="order_id",
        watermark_column="at",
    )
    shop.model("mart.revenue", "SELECT count(*) AS orders, max(at) AS latest FROM staging.orders")
    header = "order_id,status,at\n"
    rows = "".join(f"{n},new,2024-01-01 00:00:{n:02d}\n" for n in range(12))
    shop.file("landing/events/a.csv", header + rows)
    assert shop.run().exit_code == 0

    shop.model("raw.customers", "SELECT id + 1 AS customer_id FROM range(20)")
    rows = "".join(f"{n},paid,2024-01-02 00:00:{n:02d}\n" for n in (3, 4, 39))
    shop.file("landing/events/b.csv", header + rows)
    assert shop.run("raw.events").exit_code == 0
    stream = io.StringIO()
    select = ("raw.orders", "raw.customers", "staging.orders", "mart.revenue")
    with RunConsole(PlainView(stream)) as console:
        result = shop.run(*select, listener=console)
        console.show(result)
    shown = [re.sub(r"run-\S+", "RUN", re.sub(r"\d+(\.\d+)?m?s\b", "TIME", line)) for line in _lines(stream)]
    assert sorted(shown[1:5]) == sorted(
        [
            "[OK]   raw.orders      (full_refresh, skip: unchanged)",
            "[OK]   raw.customers   (full_refresh, backfill, 20 rows, TIME)",
            "[OK]   staging.orders  (incremental, incremental, 3 rows, TIME)",
            "[OK]   mart.revenue    (full_refresh, full, 1 row, TIME)",
        ]
    )
    assert (shown[0], shown[5]) == ("Running 4 models on RUN", "Published 3 tables to main. 4 succeeded in TIME")
    assert len(shown) == 6


def _lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()
