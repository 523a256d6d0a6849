"""Templates of models → SQL text."""
