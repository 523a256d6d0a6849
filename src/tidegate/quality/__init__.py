"""Rules about data, checked before it is published."""

from tidegate.quality.check_answers import SAMPLES, CheckAnswer, CheckQuery, plain
from tidegate.quality.evaluate import evaluate_checks
from tidegate.quality.own_functions import OwnFunctions, breaks

__all__ = ["SAMPLES", "CheckAnswer", "CheckQuery", "OwnFunctions", "breaks", "evaluate_checks", "plain"]
