"""The proxy between code that is not trusted and Spark's Connect server."""
