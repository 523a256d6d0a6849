"""The functions that a plan may call by name."""

from __future__ import annotations

import re

from tidegate.compiler.analysis.functions.lookup import NAMES, REFUSED
from tidegate.names import nearest
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError

__all__ = ["INTERNAL", "SCHEMA_FUNCTIONS", "TABLE_FUNCTIONS", "check_function", "refusal"]

_SHOW_FILES = frozenset({"input_file_name", "input_file_block_length", "input_file_block_start"})
_OPERATORS = frozenset(["!", "!=", "%", "&", "*", "+", "-", "/", "<", "<=", "<=>", "<>", "=", "==", ">", ">=", "^"])
_MORE_OPERATORS = frozenset(["|", "||", "~"])

INTERNAL = frozenset(
    """
    array_binary_search bloom_filter_agg bucket collect_top_k days distributed_id distributed_sequence_id ewm hours
    months null_index pandas_covar pandas_kurt pandas_mode pandas_product pandas_skew pandas_stddev pandas_var product
    timestamp_ntz_to_long timestampadd timestampdiff years
    """.split()  # noqa: SIM905
)
"""What Spark's client calls for its own methods. unwrap_udt and the functions of ML vectors are not among them."""

_PERMITTED = (NAMES - REFUSED.keys() - _SHOW_FILES - {"identifier"}) | _OPERATORS | _MORE_OPERATORS

TABLE_FUNCTIONS = frozenset(
    """
    collations explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer range sql_keywords
    stack variant_explode variant_explode_outer
    """.split()  # noqa: SIM905
)

SCHEMA_FUNCTIONS = frozenset({"from_csv", "from_json", "from_xml", "try_variant_get", "variant_get"})
"""An argument of theirs is a schema, which Spark reads as JSON too, and then loads the classes that it names."""

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def refusal(message: str) -> CallRefusedError:
    return CallRefusedError("PERMISSION_DENIED", message)


def check_function(written: str, declared: frozenset[str], *, internal: bool = False) -> str:
    """The name in lower case. Raises CallRefusedError. `declared`: functions of the project, in lower case."""
    name = written.lower() if written.isascii() else written
    if name in _SHOW_FILES:
        raise refusal(f"{name} shows where files are, which is closed to Python models")
    if name in REFUSED:
        raise refusal(f"{name} is closed to Python models: {REFUSED[name]}")
    permitted = INTERNAL if internal else _PERMITTED | declared | INTERNAL
    if name in permitted:
        return name
    if "." in name or not _NAME.fullmatch(name):
        raise refusal(f"the function {_shown(written)} is not known; call functions by their plain name")
    near = nearest(name, sorted(name for name in permitted if _NAME.fullmatch(name)), 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise refusal(f"unknown function {_shown(written)}{hint}")


def _shown(name: str) -> str:
    return repr(name if len(name) <= 100 else f"{name[:100]}…")
