"""The environment variables that the program reads, and those that it sets for hooks."""

from __future__ import annotations

import ast

from tests.surface.evaluate import Evaluator, Scope
from tests.surface.source import Module, Source, function_around


def variables_read(source: Source, evaluator: Evaluator) -> set[str]:
    found: set[str] = set()
    for module in source.modules.values():
        if "environ" not in module.text:
            continue
        for node in module.nodes:
            if (key := _key_read(module, node)) is not None:
                found |= evaluator.shape(key, _scope(evaluator, module, key)).texts
    return found


def _key_read(module: Module, node: ast.AST) -> ast.expr | None:
    """What stands for the name in `os.environ[…]`, `os.environ.get(…)` or `… in os.environ`."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_environment(module, node.value):
        return node.slice
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "setdefault"):
        return node.args[0] if _is_environment(module, node.func.value) else None
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
        return node.left if _is_environment(module, node.comparators[0]) else None
    return None


def _is_environment(module: Module, node: ast.expr) -> bool:
    """`os.environ`, or a name in this function that holds it or is made of it."""
    if ast.unparse(node) == "os.environ":
        return True
    function = function_around(module, node)
    if function is None or not isinstance(node, ast.Name):
        return False
    named = [*function.args.posonlyargs, *function.args.args]
    defaults = zip(reversed(named), reversed(function.args.defaults), strict=False)
    if any(a.arg == node.id and "os.environ" in ast.unparse(default) for a, default in defaults):
        return True
    assigned = (each for each in ast.walk(function) if isinstance(each, ast.Assign))
    return any(
        _holds_environment(each.value)
        and any(isinstance(target, ast.Name) and target.id == node.id for target in each.targets)
        for each in assigned
    )


def _holds_environment(node: ast.expr) -> bool:
    made = isinstance(node, ast.Dict | ast.DictComp) or ast.unparse(node).startswith(("os.environ", "dict(os.environ"))
    return made and "os.environ" in ast.unparse(node)


def variables_of_hooks(source: Source, evaluator: Evaluator, example: str = "TIDEGATE_HOOK") -> set[str]:
    """The keys of the dictionary that has `example`."""
    for module in source.modules.values():
        if example not in module.text:
            continue
        for node in module.nodes:
            if isinstance(node, ast.Dict) and any(
                isinstance(k, ast.Constant) and k.value == example for k in node.keys
            ):
                return set(evaluator.shape(node, evaluator.scope_around(module, node)).keys)
    raise AssertionError(f"no dictionary has {example}")


def _scope(evaluator: Evaluator, module: Module, node: ast.expr) -> Scope:
    """With the variables of the comprehension around the expression."""
    scope = evaluator.scope_around(module, node)
    parent: ast.AST | None = module.parents.get(node)
    while parent is not None and not isinstance(parent, ast.stmt):
        if isinstance(parent, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            return evaluator.inside(parent.generators, scope)
        parent = module.parents.get(parent)
    return scope
