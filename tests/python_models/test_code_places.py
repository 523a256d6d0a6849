"""Errors of Spark that the code of a Python model is behind."""

from __future__ import annotations

import pytest

from tidegate.errors import FailureKind, QueryError
from tidegate.python_models.code_places import with_place


class PythonException(Exception):
    """As Spark's."""


@pytest.mark.parametrize("kind", [FailureKind.AUTH_FAILED, FailureKind.QUOTA_EXCEEDED, FailureKind.UNKNOWN])
def test_an_error_of_a_function_ends_no_other_model_whatever_its_words_are(kind: FailureKind) -> None:
    for text, place in (('File "models/x.py", line 3, in f', "models/x.py:3"), ("while it was read", "models/x.py")):
        explained = QueryError("401 Unauthorized")
        explained.kind = kind
        found = with_place(explained, PythonException(text), "models/x.py")
        assert (found.kind, found.where) == (FailureKind.QUERY_REJECTED, place)


def test_an_error_of_the_lake_keeps_its_kind() -> None:
    explained = QueryError("401 Unauthorized")
    explained.kind = FailureKind.AUTH_FAILED
    assert with_place(explained, RuntimeError("401 Unauthorized"), "models/x.py").kind is FailureKind.AUTH_FAILED
