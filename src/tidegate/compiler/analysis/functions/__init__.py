"""The functions of Spark as data."""
