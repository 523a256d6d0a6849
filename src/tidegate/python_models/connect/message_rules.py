"""How the lists of what a plan may hold are written: by message and field of Spark Connect's protobuf definitions.

A message or a field that no list names is refused: what a newer Spark adds is closed until someone has looked at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = [
    "ARTIFACTS",
    "CATALOG",
    "CHECKPOINTS",
    "FILES",
    "JVM_CODE",
    "MACHINE_LEARNING",
    "NOT_KNOWN",
    "PREFIX",
    "SESSION",
    "STREAMING",
    "WRITES",
    "MessageRule",
    "rule",
]

PREFIX = "spark.connect."
"""Of the full names of messages; the lists leave it out."""

ARTIFACTS = "files and packages cannot be sent to Spark; write the code in the model, or in lib/"
CATALOG = "the catalog is closed to Python models; read tables with tg.ref"
CHECKPOINTS = "a Python model makes no checkpoints; split it into two models, and Tidegate stores what is between them"
FILES = "files, databases and other sources are closed to Python models; read with tg.ref or tg.landing_zone"
JVM_CODE = "code of the JVM cannot be run; use Spark's functions, or a Python function"
MACHINE_LEARNING = "Spark ML is closed to Python models; use Spark's functions, or a pandas function"
NOT_KNOWN = "this part of Spark Connect is not known to be safe"
SESSION = "the session belongs to Tidegate"
STREAMING = "a Python model works on what is there now, not on streams; tg.changes gives what is new"
WRITES = "a Python model writes nothing itself; return the DataFrame, and Tidegate writes it"


@dataclass(frozen=True, slots=True)
class MessageRule:
    """`refused`: why, by field. A field of neither list is refused as unknown."""

    allowed: frozenset[str]
    refused: Mapping[str, str] = field(default_factory=dict)


def rule(allowed: str, **refused: str) -> MessageRule:
    """`allowed`: fields, with spaces between them."""
    return MessageRule(frozenset(allowed.split()), refused)
