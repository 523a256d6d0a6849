"""The text of a query and its syntax tree: parsing, names, places, and what a query may do."""
