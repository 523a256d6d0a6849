"""Chunked loads of a Tidegate project as an Airflow DAG: each raw file is a mapped task of each of the three jobs.

Set TIDEGATE_PROJECT to the folder with tidegate.toml, on a disk that all workers see. Tidegate is imported inside the
tasks alone, so that the scheduler parses this file without it.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import dag, task

PROJECT = os.environ.get("TIDEGATE_PROJECT", ".")

# A file that fails is tried again, and so is a load that finds another process at its table: repeating does no harm.
RETRIES: dict[str, Any] = {"retries": 3, "retry_delay": timedelta(minutes=1), "retry_exponential_backoff": True}

# Where one job has nothing to do, its mapped task is skipped; the next job is listed all the same.
ALWAYS: dict[str, Any] = {"trigger_rule": "none_failed"}


@dag(
    dag_id="chunked_loads",
    schedule=timedelta(hours=1),
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args=RETRIES,
    tags=["tidegate"],
)
def chunked_loads() -> None:
    @task
    def files_to_chunk() -> list[dict[str, Any]]:
        from tidegate.chunks import chunk_bronze

        return chunk_bronze.get_tasks(PROJECT)

    # One after the other, oldest first: files are loaded in the order in which they were chunked.
    @task(max_active_tis_per_dagrun=1)
    def chunk(unit: dict[str, Any]) -> dict[str, Any] | None:
        from tidegate.chunks import chunk_bronze

        return chunk_bronze.process_task(unit)

    @task(**ALWAYS)
    def files_to_process() -> list[dict[str, Any]]:
        from tidegate.chunks import process_bronze

        return process_bronze.get_tasks(PROJECT)

    # A task of these two starts a JVM: so many at a time as a worker has memory for.
    @task(max_active_tis_per_dagrun=2)
    def process(unit: dict[str, Any]) -> dict[str, Any] | None:
        from tidegate.chunks import process_bronze

        return process_bronze.process_task(unit)

    @task(**ALWAYS)
    def tables_to_load() -> list[dict[str, Any]]:
        """One file of each table; the next run loads the next file."""
        from tidegate.chunks import load_bronze

        return load_bronze.get_tasks(PROJECT)

    @task(max_active_tis_per_dagrun=2)
    def load(unit: dict[str, Any]) -> dict[str, Any]:
        from tidegate.chunks import load_bronze

        result = load_bronze.process_task(unit)
        if result["status"] == "busy":
            raise RuntimeError(result["warnings"][0])
        return result

    chunked = chunk.expand(unit=files_to_chunk())
    processable = files_to_process()
    processed = process.expand(unit=processable)
    loadable = tables_to_load()
    load.expand(unit=loadable)
    chunked >> processable
    processed >> loadable


chunked_loads()
