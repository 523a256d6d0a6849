"""Rules about data, checked before it is published."""

from tidegate.quality.asking import SAMPLES, Asked, Found
from tidegate.quality.measuring import measure
from tidegate.quality.plain_values import plain

__all__ = ["SAMPLES", "Asked", "Found", "measure", "plain"]
