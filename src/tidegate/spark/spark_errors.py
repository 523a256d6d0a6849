"""Spark's exceptions as failures: a kind, one readable sentence, a place and a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.errors import FailureKind, TidegateError
from tidegate.failures import ExceptionFacts, causes, classify, facts_in_text, facts_of_exception, status_in_message

__all__ = ["Failure", "read_failure", "sentence"]

_PLACE = re.compile(r"\bline (\d+),? pos(?:ition)? \d+")
_ADVICE = re.compile(r"\s*If necessary set \S+ to \S+ to bypass this error\.")
_TASK = re.compile(r"^.*?\(TID \d+\) \([^)]*\): ", re.DOTALL)
_JAVA_CLASS = re.compile(
    r"^(?:(?:com|io|java|javax|jdk|net|org|scala|sun)\.(?:[a-z]\w*\.)*[A-Z][\w$]*(?:Exception|Error): (?=\S))+"
)
"""The name of a Java exception does not help the author of a query; its message follows."""
_SQLSTATE = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}")
_CONDITION = re.compile(r"^\[[A-Z_][A-Z0-9_]+(?:\.[A-Z0-9_]+)*\]\s*(?=\S)")
_PLACE_AT_THE_END = re.compile(r"\s*;\s*line \d+,? pos(?:ition)? \d+;?$")
"""A line of the statement that Spark received, which differs from what the author wrote."""
_NUMBER_OF_A_TYPE = re.compile(r"(?<=\bThe value )(-?\d+(?:\.\d+)?(?:E-?\d+)?)(?:L|S|Y|BD|D|F)(?= of the type )")
"""`2147483648L` is how Spark writes a bigint."""

_TRACEBACK = "Traceback (most recent call last):"
_RAISED_IN_PYTHON = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)", re.MULTILINE)
_PYSPARK = "pyspark.errors.exceptions.base.PySparkException"

_DEEPEST = 20
_WRAPPERS = frozenset(
    {
        "org.apache.spark.SparkException",
        "org.apache.spark.SparkRuntimeException",
        "org.apache.spark.api.python.PythonException",
        "org.apache.spark.util.TaskCompletionListenerException",
    }
)
"""Classes that carry what happened in their message where they have no cause."""

_CODES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "java.sql.SQLException": ("sqlstate", ("getSQLState",)),
    "org.sqlite.SQLiteException": ("sqlite", ("getResultCode", "name")),
    "com.microsoft.sqlserver.jdbc.SQLServerException": ("sqlserver", ("getErrorCode",)),
    "software.amazon.awssdk.core.exception.SdkServiceException": ("status", ("statusCode",)),
    "org.projectnessie.error.BaseNessieClientServerException": ("status", ("getStatus",)),
    "org.projectnessie.client.rest.NessieServiceException": ("status", ("getError", "getStatus")),
    "org.projectnessie.client.http.HttpClientResponseException": ("status", ("getStatus", "getCode")),
}
"""By class: which fact its objects know, and what to call for it."""
_THROTTLED = "software.amazon.awssdk.core.exception.SdkServiceException"


@dataclass(frozen=True, slots=True)
class Failure:
    kind: FailureKind
    message: str
    line: int | None = None
    """In the SQL that Spark received, from 1."""
    fragment: str | None = None
    """The part of the SQL that failed."""
    remedy: str | None = None
    retry_after: float | None = None
    """Seconds that the service asks to wait before the next request."""


def read_failure(error: BaseException) -> Failure:
    """The facts of an exception that came out of Spark, or of anything else."""
    classification = classify(_facts(error))
    if isinstance(error, TidegateError):
        return Failure(classification.kind, error.message, remedy=error.remedy, retry_after=error.retry_after)
    place = _PLACE.search(str(error))
    return Failure(
        classification.kind,
        sentence(_message_of(error)),
        int(place.group(1)) if place else None,
        _fragment(error),
        classification.remedy,
        classification.retry_after,
    )


def _facts(error: BaseException) -> list[ExceptionFacts]:
    """From the exception that was caught down to its root cause, in Python and in the JVM."""
    return [
        fact
        for each in causes(error)
        for fact in (_facts_from_jvm(each) or _facts_from_pyspark(each) or [facts_of_exception(each)])
    ]


def _facts_from_jvm(error: BaseException) -> list[ExceptionFacts]:
    """Of the Java exception behind it, and of its causes; none in Spark Connect, which has no objects of the JVM."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    facts: list[ExceptionFacts] = []
    while java is not None and len(facts) < _DEEPEST:
        try:
            facts.append(_java_fact(java))
            java = java.getCause()
        except Exception:  # the JVM has ended, with its objects
            break
    return [*facts, *_in_message(facts[-1])] if facts else []


def _java_fact(java: Any) -> ExceptionFacts:
    classes = tuple(_java_classes(java.getClass()))
    message = _call(java, "getMessage") or ""
    fact = ExceptionFacts(classes, message, status=status_in_message(classes, message))
    if classes[0].startswith("org.apache.spark."):
        fact = replace(fact, condition=_call(java, "getCondition"), sqlstate=_call(java, "getSqlState"))
    for name in classes:
        if name in _CODES:
            field, path = _CODES[name]
            fact = replace(fact, **{field: _follow(java, path)})
    if _THROTTLED in classes and _follow(java, ("isThrottlingException",)) is True:
        fact = replace(fact, status=429)
    return fact


def _java_classes(java_class: Any) -> Iterator[str]:
    while java_class is not None:
        yield str(java_class.getName())
        java_class = java_class.getSuperclass()


def _follow(java: Any, path: tuple[str, ...]) -> Any:
    try:
        for name in path:
            java = getattr(java, name)()
    except Exception:
        return None
    return java


def _in_message(fact: ExceptionFacts) -> list[ExceptionFacts]:
    if _WRAPPERS.isdisjoint(fact.classes[:1]) and _TRACEBACK not in fact.message:
        return []
    return facts_in_text(fact.message)


def _facts_from_pyspark(error: BaseException) -> list[ExceptionFacts]:
    """Of an exception that PySpark made of text: all of Spark Connect's, and those of Python workers."""
    fact = facts_of_exception(error)
    if _PYSPARK not in fact.classes:
        return []
    fact = replace(fact, condition=_call(error, "getCondition"), sqlstate=_call(error, "getSqlState"))
    return [fact, *facts_in_text(f"{_call(error, 'getStackTrace') or ''}\n{fact.message}")]


def _fragment(error: BaseException) -> str | None:
    contexts = getattr(error, "getQueryContext", list)
    try:
        return next((str(context.fragment()) for context in contexts()), None)
    except Exception:
        return None


def _call(error: Any, name: str) -> str | None:
    method = getattr(error, name, None)
    try:
        value = method() if callable(method) else None
    except Exception:
        return None
    return value if isinstance(value, str) else None


def _message_of(error: BaseException) -> str:
    """The innermost cause is the most specific: Spark wraps an exception of a task several times."""
    java = getattr(error, "java_exception", None)
    return _call(error, "getMessage") or (str(java) if java is not None else None) or str(error) or type(error).__name__


def sentence(text: str) -> str:
    """The first paragraph without the codes around it, the query plan and the Java stack."""
    if raised := _RAISED_IN_PYTHON.findall(text):
        text = raised[-1]
    caused = re.findall(r"Caused by: ([^\n]+)", text)
    if "Job aborted" in text.split("\n", 1)[0]:
        text = caused[-1] if caused else _TASK.sub("", text)
    text = re.split(r"\n\s*at [\w.$/]+\(|\nDriver stacktrace|;\n'|\n== |\n\+-|\nJVM stacktrace", text)[0]
    text = _CONDITION.sub("", _JAVA_CLASS.sub("", text.strip()))
    text = _PLACE_AT_THE_END.sub("", _SQLSTATE.sub("", text))
    text = _NUMBER_OF_A_TYPE.sub(r"\1", _ADVICE.sub("", text)).strip().rstrip(";").strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:3]) if lines else "Spark gave no reason"
