"""Running the unit tests of models."""
