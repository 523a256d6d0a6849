"""The process in which code that is not trusted runs, and its walls."""
