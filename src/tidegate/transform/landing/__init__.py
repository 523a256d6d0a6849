"""Landing files → a DataFrame whose columns depend on the data alone.

Nothing is imported here: Spark's tasks that read records import `record_source` alone.
"""
