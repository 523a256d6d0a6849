"""Rules about data, checked before it is published."""

from tidegate.quality.sql_tests import TestOutcome, plain, run_sql_test

__all__ = ["TestOutcome", "plain", "run_sql_test"]
