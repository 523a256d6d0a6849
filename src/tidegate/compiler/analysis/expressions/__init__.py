"""How the type of each kind of expression follows from its parts."""
