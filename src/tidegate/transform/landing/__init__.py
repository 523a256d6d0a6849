"""Landing files → a DataFrame whose columns depend on the data alone."""

from tidegate.transform.landing.delivery import Delivery, DeliveryRun
from tidegate.transform.landing.landing_errors import explain_read_error
from tidegate.transform.landing.zone_reader import bad_records_of, read_zone, union_bad_records

__all__ = ["Delivery", "DeliveryRun", "bad_records_of", "explain_read_error", "read_zone", "union_bad_records"]
