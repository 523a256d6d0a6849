"""The syntax tree of one file with what its rules ask of it: what is around a node, and the texts that are known."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

__all__ = ["CodeTree", "NestedTooDeeplyError"]

DEEPEST = 400
_LONGEST_TEXT = 100_000


class NestedTooDeeplyError(Exception):
    def __init__(self, node: ast.AST) -> None:
        super().__init__("nested too deeply")
        self.line = getattr(node, "lineno", 1)


class CodeTree:
    def __init__(self, tree: ast.Module) -> None:
        self.nodes: list[ast.AST] = []
        self.parents: dict[ast.AST, ast.AST] = {}
        self.values: dict[str, list[ast.expr | None]] = defaultdict(list)
        """By name: every value that is given to it; None where it is not a plain assignment."""
        self.bound: set[str] = set()
        """Names that are bound otherwise than by an import, a class or a function."""
        self.classes: dict[str, list[ast.ClassDef]] = defaultdict(list)
        self._values: dict[ast.AST, str | int | None] = {}
        waiting: list[tuple[ast.AST, int]] = [(tree, 0)]
        while waiting:
            node, depth = waiting.pop()
            if depth > DEEPEST:
                raise NestedTooDeeplyError(node)
            self.nodes.append(node)
            self._bind(node)
            for child in ast.iter_child_nodes(node):
                # Nodes without a place, such as `Load`, are one object for all.
                if isinstance(child, ast.expr_context | ast.operator | ast.unaryop | ast.boolop | ast.cmpop):
                    continue
                self.parents[child] = node
                waiting.append((child, depth + 1))

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                self.bound.add(name)
                parent = self.parents.get(node)
                plain = isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr) and parent.value is not None
                self.values[name].append(parent.value if plain else None)  # type: ignore[union-attr]
            case ast.arg(arg=name):
                self.bound.add(name)
                self.values[name].append(None)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self.bound.add(name)
                self.values[name].append(None)
            case ast.MatchMapping(rest=str(name)):
                self.bound.add(name)
                self.values[name].append(None)
            case ast.ClassDef(name=name):
                self.classes[name].append(node)

    def text(self, node: ast.AST | None, depth: int = 0) -> str | None:
        """The text that an expression of literals is, as far as it needs no run to be known."""
        if node is None or depth > 40:
            return None
        value = self._known(node, depth)
        return value if isinstance(value, str) and len(value) <= _LONGEST_TEXT else None

    def _value(self, node: ast.AST, depth: int) -> str | int | None:
        match node:
            case ast.Constant(value=str() | int() as value):
                return value
            case ast.Name(id=name, ctx=ast.Load()) if len(self.values.get(name, ())) == 1:
                given = self.values[name][0]
                return None if given is None else self._known(given, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                one, other = self._known(left, depth), self._known(right, depth)
                return one + other if isinstance(one, str) and isinstance(other, str) else None
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                one, other = self._known(left, depth), self._known(right, depth)
                small = isinstance(one, str) and isinstance(other, int) and 0 <= other * len(one) <= _LONGEST_TEXT
                return one * other if small else None  # type: ignore[operator]
            case ast.JoinedStr(values=parts):
                texts = [self.text(part, depth) for part in parts]
                return None if None in texts else "".join(text for text in texts if text is not None)
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                return self.text(inner, depth)
            case ast.Subscript(value=inner, slice=ast.Slice(lower=None, upper=None, step=step)):
                whole = self.text(inner, depth)
                backwards = step is not None and ast.unparse(step) == "-1"
                return whole[::-1] if whole is not None and backwards else None
            case ast.Call(func=ast.Name(id="chr"), args=[one], keywords=[]):
                number = self._known(one, depth)
                return chr(number) if isinstance(number, int) and 0 <= number < 0x110000 else None
            case ast.Call(func=ast.Attribute(value=inner, attr=method), args=args, keywords=[]):
                return self._method(inner, method, args, depth)
        return None

    def _known(self, node: ast.AST, depth: int) -> str | int | None:
        if depth > 40:
            return None
        if node not in self._values:
            self._values[node] = self._value(node, depth + 1)
        return self._values[node]

    def _method(self, inner: ast.expr, method: str, args: list[ast.expr], depth: int) -> str | None:
        whole = self.text(inner, depth)
        if whole is None:
            return None
        if method == "join" and len(args) == 1 and isinstance(args[0], ast.List | ast.Tuple):
            parts = [self.text(part, depth) for part in args[0].elts]
            return None if None in parts else whole.join(part for part in parts if part is not None)
        given = [self.text(arg, depth) for arg in args]
        texts = [text for text in given if text is not None]
        if len(texts) != len(given) or len(texts) != _TEXT_METHODS.get(method):
            return None
        result = getattr(whole, method)(*texts)
        return result if len(result) <= _LONGEST_TEXT else None


_TEXT_METHODS = {"lower": 0, "upper": 0, "strip": 0, "title": 0, "swapcase": 0, "replace": 2, "removeprefix": 1}
