"""Rules about a table: what can be declared, what each means in SQL. Pure text and values; `quality` runs them."""
