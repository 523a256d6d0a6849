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
from tidegate.compiler.passes.contract_rules import check_contracts
from tidegate.compiler.passes.graph import waves_of
from tidegate.compiler.passes.incremental_reads import check_reading
from tidegate.compiler.passes.mask_rules import mask_columns
from tidegate.compiler.passes.parse import parse_text, render_template, resolve_names
from tidegate.compiler.passes.query_columns import type_columns
from tidegate.compiler.passes.result_columns import check_capabilities, check_output
from tidegate.compiler.passes.settings_rules import check_quarantine, check_query, check_settings
from tidegate.names import TableName
from tidegate.redaction import holds_secret, register

__all__ = ["FILE_PASSES", "MODEL_PASSES", "cores", "run_in_forks", "run_passes"]

_PR_SET_PDEATHSIG = 1
Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """How many processes may work at once; 1 where forking is not safe."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return 1
    return len(os.sched_getaffinity(0))


def run_in_forks(work: Callable[[Item], Result], items: Sequence[Item], processes: int) -> list[tuple[int, Result]]:
    """What `work` gives for the items that went to other processes, by their place in `items`.

    This process does its own share too, of which `work` is to keep the result itself. What a process that died did not
    hand back is simply missing.
    """
    started = [_start(work, items, first, processes) for first in range(1, processes)]
    found: list[tuple[int, Result]] = []
    try:
        for i in range(0, len(items), processes):
            work(items[i])
        for process, stream in started:
            with os.fdopen(stream, "rb") as pipe, contextlib.suppress(EOFError, pickle.UnpicklingError):
                found += pickle.load(pipe)
            os.waitpid(process, 0)
    except BaseException:
        for process, _ in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        raise
    return found


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
        # Nothing of the parent's must be flushed, closed or reported twice.
        os._exit(status)


def _end_with_parent(parent: int) -> None:
    """The kernel kills this process when its parent is gone, also when that was killed."""
    import ctypes  # only here: other commands need not load it

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before
        os._exit(1)


ModelPass = Callable[[CompilationState, Draft], Iterator[Diagnostic]]

FILE_PASSES: tuple[ModelPass, ...] = (render_template, parse_text, check_settings, resolve_names)
"""What can be asked of one file whatever else there is."""

MODEL_PASSES: tuple[ModelPass, ...] = (
    type_columns,
    check_query,
    check_reading,
    check_output,
    mask_columns,
    check_contracts,
    check_checks,
    check_quarantine,
    check_capabilities,
)
"""What is asked of one model or test once those that it reads are understood."""

_FORK_FROM = 100
_TREES = 100
"""So many trees are kept before they are thrown away together."""
_DOTTED = re.compile(r"\b\w+(?:\.\w+)+")


def run_passes(work: CompilationState, cache: CompileCache) -> bool:
    """Whether models may read each other in a circle; where it is False, none do."""
    one = _PassRunner(work, cache)
    one.fork()
    for draft in work.drafts:
        one.run(draft)
    cache.keep_only({draft.file for draft in work.drafts})
    return one.circular


class _PassRunner:
    """`circular`: something was met on the way to what it reads."""

    def __init__(self, work: CompilationState, cache: CompileCache) -> None:
        self.work = work
        self.cache = cache
        self.circular = False
        self.digests = Digests(work)
        self._known: dict[str, Outcome] = {}
        for draft in work.drafts:
            draft.own = self.digests.own(draft)
            outcome = cache.outcomes.get(draft.file)
            if outcome is not None and outcome.own == draft.own and _environment_unchanged(outcome.asked):
                self._known[draft.file] = outcome
        self._finished = 0

    def run(self, draft: Draft) -> None:
        """The draft, and before it whatever it reads. In a circle someone must begin."""
        waiting = [draft]
        while waiting:
            at = waiting[-1]
            match at.progress:
                case DraftStage.UNDERSTOOD:
                    waiting.pop()
                case DraftStage.UNREAD:
                    waiting += self._begin(at)
                case DraftStage.KNOWN if not self._restored(at):
                    waiting += self._read(at)
                case DraftStage.READ:
                    self._finish(at)

    def _begin(self, draft: Draft) -> list[Draft]:
        outcome = self._known.get(draft.file)
        if outcome is None:
            return self._read(draft)
        draft.progress = DraftStage.KNOWN
        return self._unread(outcome.tables)

    def _unread(self, tables: Iterable[TableName]) -> list[Draft]:
        unread = []
        for table in tables:
            draft = self.work.models.get(table)
            if draft is None or draft.progress is DraftStage.UNDERSTOOD:
                continue
            if draft.progress is DraftStage.UNREAD:
                unread.append(draft)
            else:
                self.circular = True
        return unread

    def _restored(self, draft: Draft) -> bool:
        outcome = self._known[draft.file]
        if self.digests.whole(draft, outcome) != outcome.whole:
            return False
        draft.restore(outcome)
        return True

    def _read(self, draft: Draft) -> list[Draft]:
        """Gives those that it reads and that are to be understood before it."""
        for each in FILE_PASSES:
            draft.diagnostics += tuple(each(self.work, draft))
        draft.progress = DraftStage.READ
        return self._unread(draft.tables)

    def _finish(self, draft: Draft) -> None:
        draft.progress = DraftStage.UNDERSTOOD
        for each in MODEL_PASSES:
            draft.diagnostics += tuple(each(self.work, draft))
        draft.forget_trees()
        self._finished += 1
        if self._finished % _TREES == 0:
            # Nodes know their parents, so only a search frees a tree; of what is young, that is all there is to find.
            gc.collect(0)
        draft.whole = self.digests.whole(draft, draft)
        draft.interface = self.digests.interface(draft)
        self._keep(draft, draft.outcome())

    def _keep(self, draft: Draft, outcome: Outcome) -> None:
        """What is wrong is found anew each time, and what holds a secret goes into no file."""
        for name, value in outcome.asked:
            register(value, name)
        if not draft.failed and not _holds_secret(outcome):
            self.cache.put(draft.file, outcome)

    def fork(self) -> None:
        """What the cache knows nothing of, on all cores, level by level; a guess at who reads whom will do for that."""
        processes = cores()
        fresh = [draft for draft in self.work.drafts if draft.file not in self._known] if processes > 1 else []
        if len(fresh) < _FORK_FROM:
            return
        # What another process met on its way is not known here.
        self.circular = True
        for level in _levels(self.work, fresh):
            if len(level) < _FORK_FROM:
                continue
            for place, outcome in run_in_forks(self._outcome, level, processes):
                level[place].restore(outcome)
                self._keep(level[place], outcome)

    def _outcome(self, draft: Draft) -> Outcome:
        self.run(draft)
        return draft.outcome()


def _holds_secret(outcome: Outcome) -> bool:
    return holds_secret(outcome.content) or holds_secret(repr((outcome.asked, outcome.diagnostics)))


def _environment_unchanged(asked: Iterable[tuple[str, str | None]]) -> bool:
    """Whether the environment still gives the same answers."""
    return all(os.environ.get(name) == told for name, told in asked)


def _levels(work: CompilationState, drafts: list[Draft]) -> list[list[Draft]]:
    """Models in waves, going by the names in their texts, then the tests. Who is in a circle is in none."""
    namespace = work.settings.project.namespace
    known = {str(table).lower(): table for table in work.models}
    known |= {table.short(namespace).lower(): table for table in work.models}
    models = {draft.model.table: draft for draft in drafts if work.models[draft.model.table] is draft}
    named = {table: _DOTTED.findall(draft.source.lower()) for table, draft in models.items()}
    edges = {table: {known[word] for word in words if word in known} - {table} for table, words in named.items()}
    waves = [[models[table] for table in wave] for wave in waves_of(edges)]
    return [*waves, [draft for draft in drafts if draft.test]]
