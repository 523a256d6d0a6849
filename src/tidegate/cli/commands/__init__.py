"""The commands. Nothing here is imported before its command is called."""
