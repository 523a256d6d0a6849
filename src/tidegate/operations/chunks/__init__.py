"""What the commands of chunked loads do."""
