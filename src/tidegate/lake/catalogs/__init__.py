"""The adapters of `BranchCatalog`: SQLite, PostgreSQL, Nessie, and Iceberg's REST protocol."""
