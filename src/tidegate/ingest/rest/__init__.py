"""Pages of a REST API: the connector, its server, and what can be seen in a page."""
