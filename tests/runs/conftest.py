"""Project folders to run."""

from tests.projects import make_project, module_shop, pointer_shop, shop

__all__ = ["make_project", "module_shop", "pointer_shop", "shop"]
