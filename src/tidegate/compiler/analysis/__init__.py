"""Static analysis of a query: its columns, types, lineage and errors, without running it."""
