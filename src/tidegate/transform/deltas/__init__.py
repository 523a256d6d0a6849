"""Changed rows of tables as relations: what a delta query reads, bound to a session."""

from tidegate.transform.deltas.images import bind_images
from tidegate.transform.deltas.touched import TouchedKeys, result_sql, touched_keys

__all__ = ["TouchedKeys", "bind_images", "result_sql", "touched_keys"]
