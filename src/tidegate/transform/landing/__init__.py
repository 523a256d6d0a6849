"""Landing files → a DataFrame whose columns depend on the data alone."""

from tidegate.transform.landing.failures import explain_read_error
from tidegate.transform.landing.read import ZoneFrame, read_zone

__all__ = ["ZoneFrame", "explain_read_error", "read_zone"]
