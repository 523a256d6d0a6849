"""Each model and test put through its passes, after those that it reads; from the cache where nothing changed."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterable, Iterator

from tidegate.compiler.cache import CompileCache
from tidegate.compiler.digests import Digests
from tidegate.compiler.drafts import Draft, Outcome, Progress, Workspace
from tidegate.compiler.forked import cores, in_forks
from tidegate.compiler.passes.capabilities import check_capabilities
from tidegate.compiler.passes.checks import check_checks
from tidegate.compiler.passes.columns import type_columns
from tidegate.compiler.passes.contracts import check_contracts
from tidegate.compiler.passes.graph import waves_of
from tidegate.compiler.passes.masks import mask_columns
from tidegate.compiler.passes.output import check_output
from tidegate.compiler.passes.parse import parse_text
from tidegate.compiler.passes.quarantine import check_quarantine
from tidegate.compiler.passes.reading import check_reading
from tidegate.compiler.passes.render import render_template
from tidegate.compiler.passes.resolve import resolve_names
from tidegate.compiler.passes.rules import check_query, check_settings
from tidegate.compiler.values import Diagnostic
from tidegate.names import TableName
from tidegate.redaction import holds_secret, register

__all__ = ["FILE_PASSES", "MODEL_PASSES", "understand"]

ModelPass = Callable[[Workspace, Draft], Iterator[Diagnostic]]

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

_WORTH_FORKING = 100
_TREES = 100
"""So many trees are kept before they are thrown away together."""
_DOTTED = re.compile(r"\b\w+(?:\.\w+)+")


def understand(work: Workspace, cache: CompileCache) -> bool:
    """Whether models may read each other in a circle; where it is False, none do."""
    one = _Understanding(work, cache)
    one.fork()
    for draft in work.drafts:
        one.understand(draft)
    cache.keep_only({draft.file for draft in work.drafts})
    return one.circular


class _Understanding:
    """`circular`: something was met on the way to what it reads."""

    def __init__(self, work: Workspace, cache: CompileCache) -> None:
        self.work = work
        self.cache = cache
        self.circular = False
        self.digests = Digests(work)
        self._known: dict[str, Outcome] = {}
        for draft in work.drafts:
            draft.own = self.digests.own(draft)
            outcome = cache.outcomes.get(draft.file)
            if outcome is not None and outcome.own == draft.own and _are_as_told(outcome.asked):
                self._known[draft.file] = outcome
        self._finished = 0

    def understand(self, draft: Draft) -> None:
        """The draft, and before it whatever it reads. In a circle someone must begin."""
        waiting = [draft]
        while waiting:
            at = waiting[-1]
            match at.progress:
                case Progress.UNDERSTOOD:
                    waiting.pop()
                case Progress.UNREAD:
                    waiting += self._begin(at)
                case Progress.KNOWN if not self._restored(at):
                    waiting += self._read(at)
                case Progress.READ:
                    self._finish(at)

    def _begin(self, draft: Draft) -> list[Draft]:
        outcome = self._known.get(draft.file)
        if outcome is None:
            return self._read(draft)
        draft.progress = Progress.KNOWN
        return self._unread(outcome.tables)

    def _unread(self, tables: Iterable[TableName]) -> list[Draft]:
        unread = []
        for table in tables:
            draft = self.work.models.get(table)
            if draft is None or draft.progress is Progress.UNDERSTOOD:
                continue
            if draft.progress is Progress.UNREAD:
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
        draft.progress = Progress.READ
        return self._unread(draft.tables)

    def _finish(self, draft: Draft) -> None:
        draft.progress = Progress.UNDERSTOOD
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
        if len(fresh) < _WORTH_FORKING:
            return
        # What another process met on its way is not known here.
        self.circular = True
        for level in _levels(self.work, fresh):
            if len(level) < _WORTH_FORKING:
                continue
            for place, outcome in in_forks(self._outcome, level, processes):
                level[place].restore(outcome)
                self._keep(level[place], outcome)

    def _outcome(self, draft: Draft) -> Outcome:
        self.understand(draft)
        return draft.outcome()


def _holds_secret(outcome: Outcome) -> bool:
    return holds_secret(outcome.content) or holds_secret(repr((outcome.asked, outcome.diagnostics)))


def _are_as_told(asked: Iterable[tuple[str, str | None]]) -> bool:
    """Whether the environment still gives the same answers."""
    return all(os.environ.get(name) == told for name, told in asked)


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
