"""Project folders to run."""

from tests.projects import make_project, pointer_shop, shop

__all__ = ["make_project", "pointer_shop", "shop"]
