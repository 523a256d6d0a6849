"""A Python model's table: its inputs as DataFrames, the call of its code, and what a result of changes does."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.amounts import plural
from tidegate.compiler.bind_python import bind_python
from tidegate.compiler.hidden_columns import touches_hidden_columns
from tidegate.compiler.python_call import PythonInput
from tidegate.errors import ModelError, PythonCodeError, QueryError, TidegateError
from tidegate.names import literal, quote
from tidegate.planner.intervals import Interval
from tidegate.project.strategies import Deltas
from tidegate.python_inputs import ReadKind
from tidegate.python_models.code_places import with_place
from tidegate.python_models.model_result import ModelCall, ModelFrame, called_model
from tidegate.quality.check_answers import redact_message
from tidegate.runs.build.result_frame import masked_frame
from tidegate.runs.called_functions import log_of_code
from tidegate.transform import Built, build_frame
from tidegate.transform.frames import built_from
from tidegate.transform.labelled_changes import (
    CHANGE_TYPE,
    GONE,
    INSERT,
    LABELS,
    labelled_changes,
    labelled_inserts,
    labelled_set,
)
from tidegate.write import Touched, WriteOutcome
from tidegate.write.few_rows import for_few_rows
from tidegate.write.staging import persisted_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.runs.build.table_build import TableBuild

__all__ = ["PythonBuild"]

_LABELLED, _TOUCHED = "__tidegate_labelled", "__tidegate_touched_keys"


class PythonBuild:
    """Of one try at one table. Its results can be read until `close`."""

    def __init__(self, build: TableBuild) -> None:
        self._build = build
        self._held = ExitStack()
        self._results: list[ModelFrame] = []

    def close(self) -> None:
        self._held.close()

    def built(self, interval: Interval | None = None, forget: bool = False) -> Built:
        """What the code returns, with its labels."""
        return self._called(interval, forget, from_changes=bool(self._build.decision.row_changes) and not forget)

    def all_rows(self) -> DataFrame:
        """What it returns where all rows of its inputs are inserts."""
        return self._rows_to_write(self._called(None, False, from_changes=False).frame)

    def write(self, built: Built, interval: Interval | None, dropped: Mapping[str, str], rebuilt: bool) -> WriteOutcome:
        build = self._build
        if build.decision.row_changes and not rebuilt:
            return self._write_changes(built, dropped)
        request = build.request(self._rows_to_write(built.frame), interval, dropped, rebuilt)
        return build.write_request(request, built.bad_records)

    def _rows_to_write(self, frame: DataFrame) -> DataFrame:
        """The rows that the table is to have, where the result is all of them or its strategy decides."""
        if not self._is_labelled(frame):
            return frame
        settings, file = self._build.settings, self._build.model.model.file
        if not settings.traits.takes_touched_keys and settings.traits.deltas is not Deltas.INSERTED:
            raise QueryError(
                f"the result has a column {CHANGE_TYPE}, and {settings.written_as} takes rows without it",
                where=file,
                remedy=f"Leave it out of the result with .drop('{CHANGE_TYPE}'), or use merge_strategy incremental.",
            )
        wrong = literal(f"{CHANGE_TYPE} of a row of the result is none of {', '.join(LABELS)}")
        kept = " ".join(f"WHEN {literal(label)} THEN {str(label not in GONE).lower()}" for label in LABELS)
        return frame.where(f"CASE {CHANGE_TYPE} {kept} ELSE raise_error({wrong}) END").drop(CHANGE_TYPE)

    def _write_changes(self, built: Built, dropped: Mapping[str, str]) -> WriteOutcome:
        """The result for what changed in the inputs; from all rows, where that cannot be written into the table."""
        build = self._build
        before = build.run.lake.pointer(build.table)
        outcome: WriteOutcome | None
        if self._is_labelled(built.frame) and build.settings.traits.takes_touched_keys:
            outcome = self._write_touched(built, dropped)
        else:
            request = replace(build.request(self._rows_to_write(built.frame), dropped=dropped), complete=False)
            outcome = build.write_request(request, built.bad_records)
        if outcome is None:
            build.turn_to_all_rows("it cannot be written in parts")
            with build.phases.timed("build_result"):
                frame = self.all_rows()
            return build.write_request(build.request(frame, dropped=dropped))
        return build.verified_outcome(outcome, before)

    def explained(self, error: Exception, explained: ModelError) -> ModelError:
        """Of what Spark raised while the result was written: without secrets, and with the line that asked for it."""
        for result in self._results:
            explained.message = result.redacted(explained.message)
        return with_place(explained, error, self._build.model.model.file)

    def _called(self, interval: Interval | None, forget: bool, *, from_changes: bool) -> Built:
        build = self._build
        run = build.run
        call = bind_python(run.compiled, build.table, build.values(interval))
        built = {one.handle: self._input(one, from_changes) for one in call.inputs if not self._is_missing(one, forget)}
        build.take_notes(*built.values())
        try:
            result = self._held.enter_context(
                called_model(
                    ModelCall(
                        call=call,
                        session=build.session,
                        inputs={handle: one.frame for handle, one in built.items()},
                        settings=run.settings,
                        sandbox=run.sandbox,
                        log=self._log,
                        cancelled=lambda: run.cancellation.requested,
                        timeout=build.time_left(),
                    )
                )
            )
        except TidegateError as error:
            run.cancellation.check()
            raise self._reported(error) from error
        self._results.append(result)
        return built_from(result.frame, list(built.values()))

    def _is_missing(self, one: PythonInput, forget: bool) -> bool:
        build = self._build
        return one.kind is ReadKind.THIS and (forget or build.run.lake.table(build.table) is None)

    def _input(self, one: PythonInput, from_changes: bool) -> Built:
        build, decision = self._build, self._build.decision
        appends = one.kind is ReadKind.CHANGES and build.model.model.takes_new_rows
        sources = build.sources(decision.inserted_since if appends else {})
        if one.kind is not ReadKind.CHANGES or one.table is None:
            return build_frame(build.session, one.query, sources)
        change = decision.row_changes.get(one.table) if from_changes else None
        if change is None or str(one.table) in sources.inserted_since:
            built = build_frame(build.session, one.query, sources)
            return replace(built, frame=labelled_inserts(built.frame, one.table))
        shared = build.reader_changes.sets.get(one.table) if build.reader_changes else None
        if shared is not None and shared.has_all_columns:
            frame = labelled_set(build.session, one.table, shared)
        else:
            frame = labelled_changes(build.session, sources.lake, one.table, change, sources.delta.get(one.table))
        if appends:
            frame = frame.where(f"{CHANGE_TYPE} = {literal(INSERT)}")
        return Built(frame, one.query.sql, {}, {})

    def _log(self, line: str) -> None:
        build = self._build
        build.run.emit("phase", build.name, log_of_code(line))

    def _reported(self, error: TidegateError) -> TidegateError:
        """With its traceback in the log of the run, and without values of columns that are hidden."""
        build = self._build
        if touches_hidden_columns(build.run.compiled, build.model):
            error.message = redact_message(error.message)
        elif isinstance(error, PythonCodeError) and error.traceback:
            build.run.emit("phase", build.name, {"phase": "traceback", "traceback": error.traceback})
        return error

    @staticmethod
    def _is_labelled(frame: DataFrame) -> bool:
        return CHANGE_TYPE in frame.columns

    def _write_touched(self, built: Built, dropped: Mapping[str, str]) -> WriteOutcome | None:
        """The rows of all keys that the result names become those of it that are not gone."""
        build, frame = self._build, built.frame
        if build.settings.quarantine or built.bad_records is not None:
            raise QueryError(
                f"the result has a column {CHANGE_TYPE}, and rows of the model go to quarantine",
                where=build.model.model.file,
                remedy=f"Leave the column out of the result with .drop('{CHANGE_TYPE}'), or set quarantine to false.",
            )
        model, session, key = build.model.model, build.session, build.settings.key
        missing = [name for name in key if name.lower() not in {column.lower() for column in frame.columns}]
        if missing:
            raise QueryError(
                f"the result has no {plural(len(missing), 'column')} {', '.join(missing)}, which unique_key names",
                where=model.file,
                remedy=f"The result has {', '.join(frame.columns)}.",
            )
        with for_few_rows(session), persisted_view(session, frame, _LABELLED):
            labelled = session.table(_LABELLED)
            keys = masked_frame(labelled, model.masks, str(model.path)).select(*map(quote, key)).distinct()
            with persisted_view(session, keys, _TOUCHED):
                request = build.request(self._rows_to_write(labelled), dropped=dropped)
                touched = Touched(_TOUCHED, tuple(key))
                return build.write_region(replace(request, complete=True, touched=touched), unique=False, nulls=None)
