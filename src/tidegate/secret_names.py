"""Which names look like those of secrets, by the words in them."""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["looks_secret", "names_password"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""`AWS_SECRET`, `access-key` and `accessKey` are words; `monkey` is one and has no key in it."""
_SECRET_WORD = re.compile(
    r"[ox]?auth|auth(?!or)\w*|authorization|bearer|\w*cookies?|\w*credentials?|creds|sas|sig|\w*signature|pw|\w*pwd"
    r"|(?:admin|db|my|pg|root|sql|user)?pass|passphrase|.*(?:password|passwd|secret).*|.*(?:token|apikey)s?"
    r"|(?:access|account|auth|client|db|encryption|master|my|private|service|shared|signing|ssh|storage)keys?"
)
_DATA_KEYS = frozenset(
    {
        "business",
        "cluster",
        "composite",
        "dedup",
        "distribution",
        "foreign",
        "group",
        "join",
        "merge",
        "natural",
        "order",
        "partition",
        "primary",
        "row",
        "sort",
        "surrogate",
        "unique",
    }
)
"""What stands before `key` where that is columns of a table."""
_OF_DATA = frozenset({"column", "columns", "field", "fields", "sock", "table"})
"""What such a name ends with where its value is the name of a column, a table or a socket (SSH_AUTH_SOCK)."""
_PASSWORD_WORD = re.compile(
    r"credentials?|creds|(?:db|user)?pass|passphrase|pw|\w*pwd|sas|sig|signature|.*(?:password|passwd|secret|token|apikey)s?"
)
_KEYS_OF_SERVICES = frozenset({"access", "account", "api", "encryption", "master", "private", "shared", "signing"})
"""What stands before `key` where that is a secret."""


def looks_secret(name: str) -> bool:
    """By the words in the name of a variable, a setting or a header."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _OF_DATA:
        return False
    keys = (before for before, word in pairwise(["", *words]) if word in ("key", "keys"))
    return any(map(_SECRET_WORD.fullmatch, words)) or any(before not in _DATA_KEYS for before in keys)


def names_password(name: str) -> bool:
    """Stricter, for `name=value` in a text that may be no connection string: `key = 'orders'` is a filter."""
    words = [word.lower() for word in _WORD.findall(name)]
    keys = (before for before, word in pairwise(words) if word in ("key", "keys"))
    return looks_secret(name) and (
        any(map(_PASSWORD_WORD.fullmatch, words)) or any(before in _KEYS_OF_SERVICES for before in keys)
    )
