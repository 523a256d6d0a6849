"""Digests for lists of consumed files that were written without them, recorded where a model has nothing else to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.compiler.values import CompiledModel
from tidegate.planner.plan import Facts
from tidegate.runs.build.deliveries import take_files
from tidegate.runs.build.table_build import set_progress
from tidegate.runs.context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["record_digests"]


def record_digests(run: RunContext, model: CompiledModel, facts: Facts, session: SparkSession) -> None:
    """A property of the table and no snapshot, so no reader has anything to do."""
    metadata = run.lake.table(model.model.table)
    assert metadata is not None
    assert metadata.progress is not None
    root, location = run.settings.landing.root, metadata.table_location
    zones = take_files({}, {}, facts.inputs, root, location, metadata.progress.run_id)
    set_progress(session, model.model.table, replace(metadata.progress, zones=zones))
