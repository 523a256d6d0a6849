"""What a shell offers when Tab is pressed. No command is imported for it: that would take a second."""
