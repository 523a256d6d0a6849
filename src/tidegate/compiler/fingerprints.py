"""What a model is, as one number: equal where the definition gives the same table, whatever its formatting."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from blake3 import blake3
from sqlglot.tokens import TokenType

from tidegate.compiler.queries import Query
from tidegate.compiler.values import LandingRead
from tidegate.project.model import ModelSettings

__all__ = ["fingerprint"]

_VERSION = 1
_NOT_THE_RESULT = {"description", "owner", "tags", "columns", "depends_on", "archive_landing_zones", "skip", "lookback"}
_AS_WRITTEN = {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.STRING,
    TokenType.RAW_STRING,
    TokenType.NATIONAL_STRING,
    TokenType.HEX_STRING,
    TokenType.BIT_STRING,
    TokenType.BYTE_STRING,
    TokenType.HINT,
}


def fingerprint(
    queries: Sequence[Query], landings: Sequence[LandingRead], settings: ModelSettings, inlined: Mapping[str, str]
) -> str:
    """`queries`: the model as rendered for a first and for a later run; `inlined`: ephemeral models by fingerprint."""
    definition = {
        "version": _VERSION,
        "queries": [_words(query) for query in queries],
        "landings": sorted(json.dumps(asdict(landing), sort_keys=True) for landing in landings),
        "settings": {k: v for k, v in asdict(settings).items() if k not in _NOT_THE_RESULT},
        "inlined": dict(inlined),
    }
    return str(blake3(json.dumps(definition, sort_keys=True, separators=(",", ":")).encode()).hexdigest())


def _words(query: Query) -> list[str]:
    """The query's words. Cut from the text rather than generated from the tree, so that none is lost on the way."""
    words = []
    for i, token in enumerate(query.tokens):
        text = query.text[token.start : token.end + 1]
        following = query.tokens[i + 1].token_type if i + 1 < len(query.tokens) else None
        is_name = token.token_type in _AS_WRITTEN and not (
            token.token_type is TokenType.VAR and following is TokenType.L_PAREN
        )
        words.append(text if is_name else text.upper())
    return words
