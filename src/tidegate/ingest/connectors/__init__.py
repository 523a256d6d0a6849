"""The connectors: one module each, listed in `tidegate.ingest.connector_registry`."""
