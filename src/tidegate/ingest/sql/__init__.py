"""Tables of SQL databases and their change logs: connectors, statements, dialects."""
