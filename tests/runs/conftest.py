"""Project folders to run."""

from tests.projects import make_project, shop

__all__ = ["make_project", "shop"]
