"""Chunked loads, as commands and routes use them."""
