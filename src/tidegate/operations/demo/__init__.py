"""A small shop to try things out: its files, and the numbers that show what its runs did."""
