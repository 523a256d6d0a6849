"""The kind of failure of an exception: its facts and those of its causes, looked up in the failure table. Also how long
to wait before another attempt."""

from __future__ import annotations

import builtins
import errno
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tidegate.errors import FailureKind, TidegateError
from tidegate.failure_table import By, Rule, deciding_rule, rule_for, rule_for_class, rule_for_words

__all__ = [
    "Classification",
    "ExceptionFacts",
    "causes",
    "class_names",
    "classify",
    "facts_in_text",
    "facts_of_chain",
    "facts_of_exception",
    "first_line",
    "growing_pause",
    "kind_of",
    "kind_of_status",
    "pause_before",
    "seconds_to_wait",
    "status_in_message",
]

_LONGEST_WAIT = 7 * 24 * 3600.0
"""Seconds; a server that asks for more is ignored."""

_MOST = 30
"""The most exceptions of a chain that are followed: it may be a ring."""

_HTTP_TEXTS = {
    "urllib.error.HTTPError": re.compile(r"^HTTP Error (\d{3})\b"),
    "requests.exceptions.HTTPError": re.compile(r"^(\d{3}) \w+ Error"),
    "org.apache.iceberg.exceptions.RESTException": re.compile(r"\(code: (\d{3}),"),
}
_RAISED = re.compile(
    r"^(?:Caused by: |.*?\(TID \d+\) \([^)]*\): )?"  # a Java stack trace, or the driver's line about a task
    r"((?:[\w$]+\.)*(?:[A-Z][\w$]*(?:Exception|Error|Timeout|IncompleteRead|Interrupt)|gaierror|herror))(?:: (.*))?$",
    re.MULTILINE,
)
_CONDITION = re.compile(r"^\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]")
_STATE = re.compile(r"\bSQLSTATE: ([0-9A-Z]{5})\b")
_RESULT_CODE = re.compile(r"^\[(SQLITE_\w+)\]")
_ERRNO = re.compile(r"^\[Errno (\d+)\]")


@dataclass(frozen=True, slots=True)
class ExceptionFacts:
    """What is known of one exception of a chain."""

    classes: tuple[str, ...] = ()
    """Its own class, then those it is derived from."""
    message: str = ""
    condition: str | None = None
    sqlstate: str | None = None
    sqlite: str | None = None
    sqlserver: int | None = None
    status: int | None = None
    errno: str | None = None
    grpc: str | None = None
    retry_after: float | None = None
    kind: FailureKind | None = None
    """Of an error of Tidegate, which has one already."""
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Classification:
    """The result of a lookup in the failure table."""

    kind: FailureKind = FailureKind.UNKNOWN
    remedy: str | None = None
    retry_after: float | None = None


def classify(facts: Sequence[ExceptionFacts]) -> Classification:
    """`facts`: from the exception that was caught down to its root cause."""
    after = next((fact.retry_after for fact in reversed(facts) if fact.retry_after is not None), None)
    for fact in facts:
        if fact.kind not in (None, FailureKind.UNKNOWN):
            return Classification(fact.kind, fact.remedy, after)
        if rule := deciding_rule(fact.classes):
            return Classification(rule.kind, rule.remedy, after)
    matches = [match for fact in reversed(facts) if (match := _classify_one(fact))]
    if not matches:
        return Classification(retry_after=after)
    kind = matches[0].kind
    remedy = next((match.remedy for match in matches if match.kind is kind and match.remedy), None)
    return Classification(kind, remedy, after)


def kind_of(error: BaseException) -> FailureKind:
    """Of a Python exception; `spark_errors` classifies those of the JVM as well."""
    return classify(facts_of_chain(error)).kind


def kind_of_status(status: int) -> FailureKind:
    """Of an HTTP status."""
    rule = rule_for(By.STATUS, status)
    return rule.kind if rule else FailureKind.UNKNOWN


def _classify_one(fact: ExceptionFacts) -> Classification | None:
    if fact.kind is not None:
        return Classification(fact.kind, fact.remedy)
    rule = next(filter(None, _rules(fact)), None)
    return Classification(rule.kind, rule.remedy) if rule else None


def _rules(fact: ExceptionFacts) -> Iterator[Rule | None]:
    """The most reliable fact first."""
    codes = (
        (By.SQLITE, fact.sqlite),
        (By.SQLSERVER, fact.sqlserver),
        (By.CONDITION, fact.condition),
        (By.SQLSTATE, fact.sqlstate),
        (By.STATUS, fact.status),
        (By.ERRNO, fact.errno),
        (By.GRPC, fact.grpc),
    )
    yield from (rule_for(by, code) for by, code in codes if code)
    yield rule_for_words(fact.message, fact.classes, of_class=True)
    if fact.sqlstate:
        yield rule_for(By.SQLSTATE, fact.sqlstate[:2])
    yield rule_for_class(fact.classes)
    if fact.condition is None and fact.sqlstate is None:  # else the message is about the query, and may quote anything
        yield rule_for_words(fact.message, fact.classes, of_class=False)


def facts_of_chain(error: BaseException) -> list[ExceptionFacts]:
    """Of an exception and those that caused it."""
    return [facts_of_exception(each) for each in causes(error)]


def causes(error: BaseException) -> Iterator[BaseException]:
    """The exception itself first."""
    at: BaseException | None = error
    visited: set[int] = set()
    while at is not None and id(at) not in visited and len(visited) < _MOST:
        visited.add(id(at))
        yield at
        at = _cause(at)


def _cause(error: BaseException) -> BaseException | None:
    """Wrappers of databases and of HTTP have what they wrap in an attribute. An exception that was merely being handled
    when the error was raised is no cause of it."""
    wrapped = (getattr(error, "orig", None), getattr(error, "reason", None), error.__cause__)
    return next((each for each in wrapped if isinstance(each, BaseException)), None)


def facts_of_exception(error: BaseException) -> ExceptionFacts:
    """Of this one alone."""
    classes, message = class_names(type(error)), str(error)
    if isinstance(error, TidegateError):
        return ExceptionFacts(classes, message, kind=error.kind, remedy=error.remedy, retry_after=error.retry_after)
    headers = _headers(error)
    return ExceptionFacts(
        classes,
        message,
        sqlstate=_text(getattr(error, "sqlstate", None)),
        sqlite=_text(getattr(error, "sqlite_errorname", None)),
        status=_status(error),
        errno=_errno(error),
        grpc=_grpc(error),
        retry_after=seconds_to_wait(headers.get("Retry-After")) if headers else None,
    )


def class_names(kind: type) -> tuple[str, ...]:
    return tuple(
        base.__qualname__ if base.__module__ == "builtins" else f"{base.__module__}.{base.__qualname__}"
        for base in kind.__mro__
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _status(error: BaseException) -> int | None:
    """urllib has `code`, requests and httpx a response, aiohttp and others `status`."""
    response = getattr(error, "response", None)
    for value in (getattr(response, "status_code", None), getattr(error, "code", None), getattr(error, "status", None)):
        if type(value) is int and 300 <= value < 600:
            return value
    return None


def _headers(error: BaseException) -> Mapping[str, Any] | None:
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None) or getattr(error, "headers", None)
    return headers if hasattr(headers, "get") else None


def _errno(error: BaseException) -> str | None:
    """Not of ssl and socket's own errors, whose numbers mean something else."""
    if isinstance(error, OSError) and type(error).__module__ == "builtins" and error.errno:
        return errno.errorcode.get(error.errno)
    return None


def _grpc(error: BaseException) -> str | None:
    """Spark Connect's exceptions, and gRPC's own."""
    for name in ("getGrpcStatusCode", "code"):
        method = getattr(error, name, None)
        if callable(method):
            try:
                return _text(getattr(method(), "name", None))
            except Exception:
                return None
    return None


def seconds_to_wait(retry_after: object, now: datetime | None = None) -> float | None:
    """The value of a header `Retry-After` in seconds, a week at most. It is given in seconds or as a date."""
    if not isinstance(retry_after, str):
        return None
    if retry_after.strip().isdecimal():
        return min(float(retry_after), _LONGEST_WAIT)
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - (now or datetime.now(UTC))).total_seconds()), _LONGEST_WAIT)


def first_line(error: BaseException) -> str:
    """Of what an exception of a library says; its class, where it says nothing."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def growing_pause(attempt: int, first: float, longest: float) -> float:
    """Seconds after attempt number `attempt` (from 1): twice as long each time."""
    return min(longest, first * 2.0 ** min(attempt - 1, 60))


def pause_before(attempt: int, first: float, longest: float) -> float:
    """A growing pause that is not the same for all that failed at one moment."""
    return growing_pause(attempt, first, longest) * random.uniform(0.5, 1)


def facts_in_text(text: str) -> list[ExceptionFacts]:
    """The exceptions that a stack trace of Java or Python names, from the first one to the root cause.

    An exception of a task reaches the driver as text alone where its class cannot be sent, and so does one of a Python
    worker.
    """
    return [_facts_in_line(match[1], match[2] or "") for match in _RAISED.finditer(text)]


def status_in_message(classes: Sequence[str], message: str) -> int | None:
    """The HTTP status in the message of an exception that has no attribute for it."""
    matches = (pattern.search(message) for name, pattern in _HTTP_TEXTS.items() if name in classes)
    return next((int(match[1]) for match in matches if match), None)


def _facts_in_line(name: str, message: str) -> ExceptionFacts:
    own = getattr(builtins, name, None)
    classes = class_names(own) if isinstance(own, type) else (name,)
    condition, state, code = _CONDITION.match(message), _STATE.search(message), _RESULT_CODE.match(message)
    number = _ERRNO.match(message)
    return ExceptionFacts(
        classes,
        message,
        condition=condition[1] if condition and not code else None,
        sqlstate=state[1] if state else None,
        sqlite=code[1] if code else None,
        status=status_in_message(classes, message),
        errno=errno.errorcode.get(int(number[1])) if number and isinstance(own, type) else None,
    )
