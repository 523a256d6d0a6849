"""Landing files → a DataFrame whose columns depend on the data alone."""

from tidegate.transform.landing.failures import explain_read_error
from tidegate.transform.landing.quarantined import bad_records_of, union_bad_records
from tidegate.transform.landing.read import read_zone

__all__ = ["bad_records_of", "explain_read_error", "read_zone", "union_bad_records"]
