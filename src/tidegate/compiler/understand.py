"""Each model and test put through its passes, after those that it reads; from the cache where nothing changed."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterable, Iterator

from tidegate.compiler.cache import CompileCache, Record
from tidegate.compiler.digests import Digests
from tidegate.compiler.drafts import Draft, Outcome, Progress, Workspace
from tidegate.compiler.forked import cores, in_forks
from tidegate.compiler.passes.capabilities import check_capabilities
from tidegate.compiler.passes.columns import type_columns
from tidegate.compiler.passes.contracts import check_contracts
from tidegate.compiler.passes.graph import waves_of
from tidegate.compiler.passes.output import check_output
from tidegate.compiler.passes.parse import parse_text
from tidegate.compiler.passes.reading import check_reading
from tidegate.compiler.passes.render import render_template
from tidegate.compiler.passes.resolve import resolve_names
from tidegate.compiler.passes.rules import check_query, check_settings
from tidegate.compiler.values import Diagnostic
from tidegate.names import TableName

__all__ = ["FILE_PASSES", "MODEL_PASSES", "understand"]

ModelPass = Callable[[Workspace, Draft], Iterator[Diagnostic]]

FILE_PASSES: tuple[ModelPass, ...] = (render_template, parse_text, check_settings, resolve_names)
"""What can be asked of one file whatever else there is."""

MODEL_PASSES: tuple[ModelPass, ...] = (
    type_columns,
    check_query,
    check_reading,
    check_output,
    check_contracts,
    check_capabilities,
)
"""What is asked of one model or test once those that it reads are understood."""

_WORTH_FORKING = 100
_TREES = 100
"""So many trees are kept before they are thrown away together."""
_DOTTED = re.compile(r"\b\w+(?:\.\w+)+")


def understand(work: Workspace, cache: CompileCache) -> None:
    one = _Understanding(work, cache)
    one.fork()
    for draft in work.drafts:
        one.understand(draft)
    cache.keep_only({draft.file for draft in work.drafts})


class _Understanding:
    def __init__(self, work: Workspace, cache: CompileCache) -> None:
        self.work = work
        self.cache = cache
        self.digests = Digests(work)
        self._records: dict[str, Record] = {}
        for draft in work.drafts:
            draft.own = self.digests.own(draft)
            if (record := cache.records.get(draft.file)) is not None and _is_of(record, draft):
                self._records[draft.file] = record
        self._finished = 0

    def understand(self, draft: Draft) -> None:
        """The draft, and before it whatever it reads. In a circle someone must begin."""
        waiting = [draft]
        while waiting:
            at = waiting[-1]
            match at.progress:
                case Progress.UNREAD:
                    waiting += self._begin(at)
                case Progress.KNOWN if not self._restored(at):
                    waiting += self._read(at)
                case Progress.READ:
                    self._finish(at)
                case _:
                    waiting.pop()

    def _begin(self, draft: Draft) -> list[Draft]:
        record = self._records.get(draft.file)
        if record is None:
            return self._read(draft)
        draft.progress = Progress.KNOWN
        return self._unread(record.outcome.tables)

    def _unread(self, tables: Iterable[TableName]) -> list[Draft]:
        found = (self.work.models.get(table) for table in tables)
        return [draft for draft in found if draft is not None and draft.progress is Progress.UNREAD]

    def _restored(self, draft: Draft) -> bool:
        record = self._records[draft.file]
        if self.digests.whole(draft, record.outcome.inputs, record.outcome.asked) != record.whole:
            return False
        draft.whole = record.whole
        draft.restore(record.outcome)
        return True

    def _read(self, draft: Draft) -> list[Draft]:
        """Gives those that it reads and that are to be understood before it."""
        for each in FILE_PASSES:
            draft.diagnostics += each(self.work, draft)
        draft.progress = Progress.READ
        return self._unread(draft.tables)

    def _finish(self, draft: Draft) -> None:
        draft.progress = Progress.UNDERSTOOD
        for each in MODEL_PASSES:
            draft.diagnostics += each(self.work, draft)
        draft.forget_trees()
        self._finished += 1
        if self._finished % _TREES == 0:
            # Nodes know their parents, so only a search frees a tree; of what is young, that is all there is to find.
            gc.collect(0)
        draft.whole = self.digests.whole(draft, draft.inputs, draft.asked)
        draft.interface = self.digests.interface(draft)
        self._keep(draft, draft.outcome())

    def _keep(self, draft: Draft, outcome: Outcome) -> None:
        """What is wrong is found anew each time."""
        if not draft.failed:
            self.cache.put(draft.file, Record(draft.own, draft.whole, outcome))

    def fork(self) -> None:
        """What the cache knows nothing of, on all cores, level by level; a guess at who reads whom will do for that."""
        processes = cores()
        fresh = [draft for draft in self.work.drafts if draft.file not in self._records] if processes > 1 else []
        if len(fresh) < _WORTH_FORKING:
            return
        for level in _levels(self.work, fresh):
            if len(level) < _WORTH_FORKING:
                continue
            for place, (outcome, whole) in in_forks(self._outcome, level, processes):
                draft = level[place]
                draft.restore(outcome)
                draft.whole = whole
                self._keep(draft, outcome)

    def _outcome(self, draft: Draft) -> tuple[Outcome, bytes]:
        self.understand(draft)
        return draft.outcome(), draft.whole


def _is_of(record: Record, draft: Draft) -> bool:
    """Whether the file, its settings and what it asked of the environment are as they were."""
    return record.own == draft.own and all(os.environ.get(name) == told for name, told in record.outcome.asked)


def _levels(work: Workspace, drafts: list[Draft]) -> list[list[Draft]]:
    """Models in waves, going by the names in their texts, then the tests. Who is in a circle is in none."""
    namespace = work.settings.project.namespace
    known = {str(table).lower(): table for table in work.models}
    known |= {table.short(namespace).lower(): table for table in work.models}
    models = {draft.model.table: draft for draft in drafts if work.models[draft.model.table] is draft}
    named = {table: _DOTTED.findall(draft.source.lower()) for table, draft in models.items()}
    edges = {table: {known[word] for word in words if word in known} - {table} for table, words in named.items()}
    waves = [[models[table] for table in wave] for wave in waves_of(edges)]
    return [*waves, [draft for draft in drafts if draft.test]]
