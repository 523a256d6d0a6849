"""Landing files → a DataFrame whose columns depend on the data alone."""

from tidegate.transform.landing.aside import bad_records_of, joined
from tidegate.transform.landing.failures import explain_read_error
from tidegate.transform.landing.read import read_zone

__all__ = ["bad_records_of", "explain_read_error", "joined", "read_zone"]
