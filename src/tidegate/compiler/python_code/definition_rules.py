"""Rules on what code defines: classes, functions, and the names that it gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tidegate.compiler.python_code.blocked_names import BLOCKED_BUILTINS, PLAIN_DUNDERS
from tidegate.compiler.python_code.code_problem import CodeProblem, problem_at
from tidegate.compiler.python_code.code_tree import CodeTree
from tidegate.compiler.python_code.name_rules import is_dunder

__all__ = ["check_definition"]

_CODE = "BlockedDefinition"
_CLASS_MAKERS = frozenset({"type", "ABCMeta", "EnumMeta", "EnumType"})
_TYPES = frozenset(
    {
        "str",
        "int",
        "float",
        "bool",
        "bytes",
        "bytearray",
        "complex",
        "object",
        "list",
        "tuple",
        "dict",
        "set",
        "frozenset",
        "type",
        "range",
        "slice",
        "None",
        "Exception",
        "BaseException",
        "Ellipsis",
        "property",
    }
)
_MAKES_TYPES = frozenset({"TypeVar", "NewType", "ParamSpec", "TypeVarTuple", "namedtuple", "NamedTuple", "TypedDict"})


def check_definition(node: ast.AST, tree: CodeTree, imported: frozenset[str]) -> Iterator[CodeProblem]:
    """`imported`: names that an import gives."""
    for name in _names_given(node):
        if is_dunder(name) and name not in PLAIN_DUNDERS:
            message = f"a definition of {name} is blocked: Python calls it by itself, or trusts what it says"
            yield problem_at(node, _CODE, message, "use a plain method, and call it by its name")
        elif name in BLOCKED_BUILTINS and not isinstance(tree.parents.get(node), ast.ClassDef):
            yield problem_at(node, _CODE, f"{name} is the name of a blocked builtin", "choose another name")
    if isinstance(node, ast.ClassDef):
        yield from _class(node)
    for annotation in _annotations(node):
        yield from _annotation(annotation, tree, imported)


def _names_given(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)) | ast.arg(arg=name):
            if is_dunder(name):
                yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname for alias in aliases if alias.asname)


def _class(node: ast.ClassDef) -> Iterator[CodeProblem]:
    for keyword in node.keywords:
        if keyword.arg in ("metaclass", None):
            message = f"the class {node.name} has a metaclass: it changes how classes are made"
            yield problem_at(keyword.value, _CODE, message, "write a plain class, or a function")
    for base in node.bases:
        name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
        if name in _CLASS_MAKERS or (isinstance(base, ast.Starred | ast.Call) and not _makes_type(base)):
            message = f"the base of the class {node.name} is not the name of a class, or makes classes"
            yield problem_at(base, _CODE, message, "name a plain class")


def _makes_type(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _MAKES_TYPES


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
            yield annotation
        case ast.FunctionDef(returns=ast.expr() as annotation) | ast.AsyncFunctionDef(returns=ast.expr() as annotation):
            yield annotation


def _annotation(annotation: ast.expr, tree: CodeTree, imported: frozenset[str]) -> Iterator[CodeProblem]:
    """Libraries run the texts of annotations as code, so an annotation must be seen to be a type."""
    wrong = _not_a_type(annotation, tree, imported)
    if wrong is not None:
        message = f"the annotation {ast.unparse(wrong)[:60]} is not seen to be a type: texts of annotations are run"
        yield problem_at(annotation, _CODE, message, "name a type, or remove the annotation")


def _not_a_type(node: ast.expr, tree: CodeTree, imported: frozenset[str], depth: int = 0) -> ast.expr | None:
    """The part of an annotation that may be a text which no check sees."""
    if depth > 20:
        return node
    parts: list[ast.expr] = []
    match node:
        case ast.Constant(value=str(text)):
            try:
                inner = ast.parse(text.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None  # a schema, for example; it cannot be run either
            hidden = any(isinstance(n, ast.Attribute) and n.attr.startswith("_") for n in ast.walk(inner))
            return node if hidden or _not_a_type(inner, tree, imported, depth + 1) is not None else None
        case ast.Constant():
            return None
        case ast.Name(id=name):
            return None if _is_type(name, tree, imported, depth) else node
        case ast.Attribute(value=value):
            parts = [value]
            while isinstance(value, ast.Attribute):
                value = value.value
            return None if isinstance(value, ast.Name) and value.id in imported - tree.bound else node
        case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal")):
            return None
        case ast.Subscript(value=value, slice=inner):
            parts = [value, inner]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            parts = [left, right]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            pass
        case ast.Starred(value=value):
            parts = [value]
        case _:
            return node
    return next((wrong for part in parts if (wrong := _not_a_type(part, tree, imported, depth + 1))), None)


def _is_type(name: str, tree: CodeTree, imported: frozenset[str], depth: int) -> bool:
    if name not in tree.bound:
        return name in _TYPES or name in imported or name in tree.classes
    values = tree.values[name]
    if len(values) != 1 or values[0] is None or name in imported or name in tree.classes:
        return False
    return _makes_type(values[0]) or _not_a_type(values[0], tree, imported, depth + 1) is None
