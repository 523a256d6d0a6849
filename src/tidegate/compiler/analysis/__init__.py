"""What a query says of itself without being run: columns, types, lineage, mistakes."""
