"""Which functions do not give the same answer for the same input."""

from __future__ import annotations

__all__ = ["NEVER_THE_SAME", "TIME_WORDS"]

_NEVER_THE_SAME = """
curdate current_catalog current_database current_date current_path current_schema current_time current_timestamp
current_timezone current_user input_file_block_length input_file_block_start input_file_name java_method
localtimestamp monotonically_increasing_id now rand randn random randstr reflect session_user shuffle
spark_partition_id try_reflect uniform user uuid version
"""

_TIME_WORDS = "current_date current_time current_timestamp current_user localtimestamp session_user"

NEVER_THE_SAME = frozenset(_NEVER_THE_SAME.split())

TIME_WORDS = frozenset(_TIME_WORDS.split())
"""Functions that Spark also knows without parentheses."""
