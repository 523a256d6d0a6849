"""What a command or a server's route does: one module or folder each. Returns values and shows nothing."""
