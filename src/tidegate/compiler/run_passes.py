"""Run the passes on each model and test, after those that it reads; unchanged ones are restored from the cache."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from tidegate.compiler.compile_cache import CompileCache
from tidegate.compiler.compiled import Diagnostic
from tidegate.compiler.digests import Digests
from tidegate.compiler.drafts import CompilationState, Draft, DraftStage, Outcome
from tidegate.compiler.passes.check_rules import check_checks
from tidegate.compiler.passes.code_names import read_code, resolve_code
from tidegate.compiler.passes.code_rules import check_code_reads
from tidegate.compiler.passes.contract_rules import check_contracts
from tidegate.compiler.passes.graph import waves_of
from tidegate.compiler.passes.incremental_reads import check_reading
from tidegate.compiler.passes.mask_rules import mask_columns
from tidegate.compiler.passes.parse import parse_text, render_template, resolve_names
from tidegate.compiler.passes.quality_rules import check_quality_rules
from tidegate.compiler.passes.query_columns import check_code_queries, type_columns
from tidegate.compiler.passes.result_columns import check_capabilities, check_output
from tidegate.compiler.passes.settings_rules import check_quarantine, check_query, check_settings
from tidegate.compiler.passes.untrusted_code import check_model_code
from tidegate.names import TableName
from tidegate.redaction import holds_secret, register

__all__ = ["CODE_PASSES", "MODEL_PASSES", "QUERY_PASSES", "cores", "run_passes"]

_PR_SET_PDEATHSIG = 1
Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """How many processes may run at once; 1 where forking is not safe."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return 1
    return len(os.sched_getaffinity(0))


def run_in_forks(work: Callable[[Item], Result], items: Sequence[Item], processes: int) -> list[tuple[int, Result]]:
    """The results of `work` for the items that other processes did, with their index in `items`.

    This process does its share too, and `work` stores those results itself. Results of a process that died are missing.
    """
    started = [_start(work, items, first, processes) for first in range(1, processes)]
    results: list[tuple[int, Result]] = []
    try:
        for i in range(0, len(items), processes):
            work(items[i])
        for process, stream in started:
            with os.fdopen(stream, "rb") as pipe, contextlib.suppress(EOFError, pickle.UnpicklingError):
                results += pickle.load(pipe)
            os.waitpid(process, 0)
    except BaseException:
        for process, _ in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        raise
    return results


def _start(work: Callable[[Item], Result], items: Sequence[Item], first: int, step: int) -> tuple[int, int]:
    parent = os.getpid()
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    status = 1
    try:
        _end_with_parent(parent)
        os.close(reading)
        results = [(i, work(items[i])) for i in range(first, len(items), step)]
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(results, pipe, pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        # Nothing of the parent may be flushed, closed or reported twice.
        os._exit(status)


def _end_with_parent(parent: int) -> None:
    """The kernel kills this process when its parent ends, even if the parent was killed."""
    import ctypes  # only here: other commands need not load it

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it had ended before
        os._exit(1)


ModelPass = Callable[[CompilationState, Draft], Iterator[Diagnostic]]

QUERY_PASSES: tuple[ModelPass, ...] = (render_template, parse_text, check_settings, resolve_names)
"""Passes over SQL that need one file alone."""

CODE_PASSES: tuple[ModelPass, ...] = (read_code, check_settings, resolve_names, resolve_code)
"""The same over Python."""

MODEL_PASSES: tuple[ModelPass, ...] = (
    type_columns,
    check_code_queries,
    check_query,
    check_reading,
    check_code_reads,
    check_output,
    mask_columns,
    check_contracts,
    check_quality_rules,
    check_checks,
    check_quarantine,
    check_capabilities,
    check_model_code,
)
"""Passes over one model or test, once everything that it reads is done."""

_FORK_FROM = 100
_TREES = 100
"""How many trees are dropped before a garbage collection."""
_DOTTED = re.compile(r"\b\w+(?:\.\w+)+")


def run_passes(work: CompilationState, cache: CompileCache) -> bool:
    """Returns whether models may read each other in a cycle; where it is False, none do."""
    runner = _PassRunner(work, cache)
    runner.fork()
    for draft in work.drafts:
        runner.run(draft)
    cache.retain_only({draft.key for draft in work.drafts})
    return runner.circular


class _PassRunner:
    """`circular`: a model was met again on the way to what it reads."""

    def __init__(self, work: CompilationState, cache: CompileCache) -> None:
        self.work = work
        self.cache = cache
        self.circular = False
        self.digests = Digests(work)
        self._cached: dict[str, Outcome] = {}
        for draft in work.drafts:
            draft.own = self.digests.own(draft)
            outcome = cache.outcomes.get(draft.key)
            if outcome is not None and outcome.own == draft.own and _environment_unchanged(outcome.environment):
                self._cached[draft.key] = outcome
        self._finished = 0

    def run(self, draft: Draft) -> None:
        """The draft, after everything that it reads; in a cycle, the one that was met first begins."""
        waiting = [draft]
        while waiting:
            at = waiting[-1]
            match at.stage:
                case DraftStage.DONE:
                    waiting.pop()
                case DraftStage.NEW:
                    waiting += self._begin(at)
                case DraftStage.CACHED if not self._restore(at):
                    waiting += self._parse(at)
                case DraftStage.PARSED:
                    self._finish(at)

    def _begin(self, draft: Draft) -> list[Draft]:
        outcome = self._cached.get(draft.key)
        if outcome is None:
            return self._parse(draft)
        draft.stage = DraftStage.CACHED
        return self._not_begun(outcome.tables)

    def _not_begun(self, tables: Iterable[TableName]) -> list[Draft]:
        new = []
        for table in tables:
            draft = self.work.models.get(table)
            if draft is None or draft.stage is DraftStage.DONE:
                continue
            if draft.stage is DraftStage.NEW:
                new.append(draft)
            else:
                self.circular = True
        return new

    def _restore(self, draft: Draft) -> bool:
        outcome = self._cached[draft.key]
        if self.digests.whole(draft, outcome) != outcome.whole:
            return False
        draft.restore(outcome)
        return True

    def _parse(self, draft: Draft) -> list[Draft]:
        """Returns the drafts that it reads and that must be done before it."""
        for each in QUERY_PASSES if draft.python is None else CODE_PASSES:
            draft.diagnostics += tuple(each(self.work, draft))
        draft.stage = DraftStage.PARSED
        return self._not_begun(draft.tables)

    def _finish(self, draft: Draft) -> None:
        draft.stage = DraftStage.DONE
        for each in MODEL_PASSES:
            draft.diagnostics += tuple(each(self.work, draft))
        draft.forget_trees()
        self._finished += 1
        if self._finished % _TREES == 0:
            # Nodes refer to their parents, so only the collector frees a tree; the youngest generation is enough.
            gc.collect(0)
        draft.whole = self.digests.whole(draft, draft)
        draft.interface = self.digests.interface(draft)
        self._cache(draft, draft.outcome())

    def _cache(self, draft: Draft, outcome: Outcome) -> None:
        """Drafts with errors are compiled each time, and what holds a secret is never written to a file."""
        for name, value in outcome.environment:
            register(value, name)
        if not draft.failed and not _holds_secret(outcome):
            self.cache.put(draft.key, outcome)

    def fork(self) -> None:
        """Compile what is not cached on all cores, level by level; a guess of the dependencies is enough for that."""
        processes = cores()
        fresh = [draft for draft in self.work.drafts if draft.key not in self._cached] if processes > 1 else []
        if len(fresh) < _FORK_FROM:
            return
        # Another process may have met a cycle.
        self.circular = True
        for level in _levels(self.work, fresh):
            if len(level) < _FORK_FROM:
                continue
            for place, outcome in run_in_forks(self._outcome, level, processes):
                level[place].restore(outcome)
                self._cache(level[place], outcome)

    def _outcome(self, draft: Draft) -> Outcome:
        self.run(draft)
        return draft.outcome()


def _holds_secret(outcome: Outcome) -> bool:
    return holds_secret(outcome.content) or holds_secret(repr((outcome.environment, outcome.diagnostics)))


def _environment_unchanged(variables: Iterable[tuple[str, str | None]]) -> bool:
    return all(os.environ.get(name) == value for name, value in variables)


def _levels(work: CompilationState, drafts: list[Draft]) -> list[list[Draft]]:
    """Models in waves, by the names in their texts, then the tests. Models of a cycle are in no wave."""
    namespace = work.settings.project.namespace
    by_name = {str(table).lower(): table for table in work.models}
    by_name |= {table.short(namespace).lower(): table for table in work.models}
    models = {draft.model.table: draft for draft in drafts if work.models[draft.model.table] is draft}
    mentions = {table: _DOTTED.findall(draft.source.lower()) for table, draft in models.items()}
    edges = {table: {by_name[word] for word in words if word in by_name} - {table} for table, words in mentions.items()}
    waves = [[models[table] for table in wave] for wave in waves_of(edges)]
    return [*waves, [draft for draft in drafts if draft.test]]
