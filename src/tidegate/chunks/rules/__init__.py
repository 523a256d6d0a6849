"""What is asked of the rows of a source: of its contract or its pydantic model, as values for the one validation."""
