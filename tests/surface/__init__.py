"""Derives the public surface of Tidegate from its source: commands, settings, JSON keys, events, codes."""
