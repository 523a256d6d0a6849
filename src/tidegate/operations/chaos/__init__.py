"""Killing a project's run at every fault point, on a copy of its lake, and looking at what is left."""
