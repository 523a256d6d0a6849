"""Rules about data, checked before it is published."""

from tidegate.quality.asking import SAMPLES, Asked, Found
from tidegate.quality.functions import OwnFunctions, breaks
from tidegate.quality.measuring import measure
from tidegate.quality.plain_values import plain

__all__ = ["SAMPLES", "Asked", "Found", "OwnFunctions", "breaks", "measure", "plain"]
