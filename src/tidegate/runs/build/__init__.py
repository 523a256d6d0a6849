"""Building one table with Spark: rows, progress, checks."""
