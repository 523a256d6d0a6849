"""Reading only what changed: which rows of a table a change can touch, as SQL."""
