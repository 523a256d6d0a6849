"""Python of a project: models, table functions and checks, in a sandbox or trusted."""
