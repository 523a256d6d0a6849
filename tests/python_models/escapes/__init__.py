"""The corpus of `tests/cases/escapes`: programs that look for secrets, and the secrets."""
