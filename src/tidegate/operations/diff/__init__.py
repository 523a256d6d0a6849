"""Comparing published tables with an earlier state."""
