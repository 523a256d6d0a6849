"""`tests/quality/*.sql`: queries that return the rows which break a rule."""

from __future__ import annotations

from pathlib import PurePosixPath

from tidegate.checks.values import Check, Stage
from tidegate.config import parse_duration
from tidegate.names import nearest
from tidegate.problems import Place, Problem, Severity, did_you_mean
from tidegate.project.directives import Directive, read_directives
from tidegate.project.lists import split_list

__all__ = ["ANNOTATIONS", "read_quality_test"]

ANNOTATIONS = ("severity", "description", "timeout", "tags", "remediation")


def read_quality_test(file: str, source: str) -> tuple[Check, tuple[Problem, ...]]:
    """The test and what is wrong with its annotations. `file` is relative to the project."""
    directives, form = read_directives(source, file, ANNOTATIONS)
    problems = list(form)
    found: dict[str, Directive] = {}
    for directive in directives:
        if directive.key in found:
            problems.append(Problem("RepeatedSetting", f"@{directive.key} is set twice", directive.place))
        found.setdefault(directive.key, directive)

    def text(key: str) -> str:
        return found[key].value if key in found else ""

    severity, timeout, tags = Severity.ERROR, None, tuple[str, ...]()
    if "severity" in found:
        try:
            severity = Severity(text("severity").lower())
        except ValueError:
            suggestion = did_you_mean(nearest(text("severity"), tuple(Severity), 1))
            message = f"severity must be error or warn, not '{text('severity')}'"
            problems.append(Problem("InvalidSetting", message, found["severity"].place, suggestion=suggestion))
    try:
        timeout = parse_duration(text("timeout")) if "timeout" in found else None
    except ValueError as error:
        problems.append(Problem("InvalidSetting", f"timeout: {error}", found["timeout"].place))
    try:
        tags = split_list(text("tags")) if "tags" in found else ()
    except ValueError as error:
        problems.append(Problem("InvalidSetting", f"tags: {error}", found["tags"].place))
    check = Check(
        name=PurePosixPath(file).stem,
        stage=Stage.BEFORE_PUBLISH,
        place=Place(file),
        severity=severity,
        description=text("description"),
        tags=tags,
        remediation=text("remediation"),
        timeout=timeout,
        source=source,
    )
    return check, tuple(problems)
