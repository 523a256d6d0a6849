"""What stands in the way of a rewrite, raised where it is found."""

from __future__ import annotations

__all__ = ["CANNOT_REWRITE", "READ_TOO_OFTEN", "STEPS", "Refused"]

CANNOT_REWRITE = "SQL that cannot be rewritten"
STEPS = "a query in steps (|>)"
READ_TOO_OFTEN = "a WITH that is read too often to be written out"


class Refused(Exception):
    """`construct`: in the user's words."""

    def __init__(self, construct: str) -> None:
        super().__init__(construct)
        self.construct = construct
