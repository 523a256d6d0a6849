"""Rows that were refused: listing, showing, replaying and waiving them."""
