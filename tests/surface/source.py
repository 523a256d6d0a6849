"""All modules of `src/tidegate` as syntax trees, and what a name in one of them refers to."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2] / "src"

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """Parsed when something of it is needed: most of the source has no part in the surface."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.text = path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def names(self) -> dict[str, ast.AST]:
        """What its top level defines."""
        return {name: node for node in self.tree.body for name in _defined(node)}

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> dict[str, tuple[str, str | None]]:
        """Local name to (module, name there), also of imports inside functions."""
        found: dict[str, tuple[str, str | None]] = {}
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {each.asname or each.name: (node.module, each.name) for each in node.names}
            elif isinstance(node, ast.Import):
                found |= {each.asname or each.name: (each.name, None) for each in node.names}
        return found

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}


@dataclass(frozen=True, eq=False)
class Definition:
    """A class, function or assigned value of one module."""

    module: Module
    name: str
    node: ast.AST


class Source:
    def __init__(self, root: Path) -> None:
        self.modules: dict[str, Module] = {}
        demo = root / "tidegate" / "operations" / "demo"  # a project of users
        for path in sorted(path for path in root.rglob("*.py") if demo not in path.parents):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.modules[name] = Module(name, path)
        self._definitions: dict[tuple[str, str], Definition] = {}
        self._values: dict[str, Any] = {}

    def definition(self, module: Module, name: str) -> Definition | None:
        """Follows imports. None for a name that this package does not define."""
        for _ in range(8):
            if name in module.names:
                key = module.name, name
                if key not in self._definitions:
                    self._definitions[key] = Definition(module, name, module.names[name])
                return self._definitions[key]
            target, imported = module.imports.get(name, ("", None))
            if imported is None or target not in self.modules:
                return None
            module, name = self.modules[target], imported
        return None

    def module_named(self, module: Module, name: str) -> Module | None:
        """The module that a local name stands for."""
        target, imported = module.imports.get(name, ("", None))
        return self.modules.get(target if imported is None else f"{target}.{imported}")

    def all_of(self, name: str) -> list[Definition]:
        form = re.compile(rf"^(?:class |def )?{name}\b", re.MULTILINE)
        modules = (module for module in self.modules.values() if name in module.text and form.search(module.text))
        found = (self.definition(module, name) for module in modules if name in module.names)
        return [definition for definition in found if definition is not None]

    def one(self, name: str) -> Definition:
        """The only top-level definition of the name, wherever it is."""
        found = self.all_of(name)
        assert len(found) == 1, f"{name} is defined in {[d.module.name for d in found] or 'no module'}: name one"
        return found[0]

    def value(self, name: str) -> Any:
        """The real object, imported from wherever it is defined."""
        if name not in self._values:
            self._values[name] = getattr(importlib.import_module(self.one(name).module.name), name)
        return self._values[name]

    def leading_to(self, *words: str) -> set[Module]:
        """The modules whose text has one of the words, and those that name them, at any depth."""
        found: set[Module] = set()
        while more := {m for m in self.modules.values() if m not in found and any(word in m.text for word in words)}:
            found |= more
            words = tuple(module.name for module in more)
        return found

    def calls(self, *words: str) -> Iterator[tuple[Module, ast.Call]]:
        """Every call in the modules whose text has all of the words."""
        for module in self.modules.values():
            if all(word in module.text for word in words):
                yield from ((module, node) for node in module.nodes if isinstance(node, ast.Call))


def function_around(module: Module, node: ast.AST) -> Function | None:
    parent = module.parents.get(node)
    while parent is not None and not isinstance(parent, Function):
        parent = module.parents.get(parent)
    return parent


def class_around(module: Module, node: ast.AST) -> ast.ClassDef | None:
    parent = module.parents.get(node)
    while parent is not None and not isinstance(parent, ast.ClassDef):
        parent = module.parents.get(parent)
    return parent


@cache
def source() -> Source:
    return Source(ROOT)


def _defined(node: ast.AST) -> Iterator[str]:
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
