"""Tidegate: build a lakehouse on a branch, check it, publish every table in one step."""

__version__ = "0.1.0"
__all__ = ["__version__"]
