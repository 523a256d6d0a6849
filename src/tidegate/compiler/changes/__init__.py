"""What a change of the project means to the readers of its tables."""
