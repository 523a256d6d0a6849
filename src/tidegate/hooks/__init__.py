"""Those who listen to a run from outside: commands, webhooks, the callback at its end, and its budget."""
