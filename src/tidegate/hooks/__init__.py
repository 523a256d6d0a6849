"""Hooks of a run: commands, webhooks, the callback at its end, and its budget."""
