"""One module for each way to write a table."""
