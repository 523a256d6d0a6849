"""What a person types: one file per command group in `commands/`, human and JSON writers over the same values."""
