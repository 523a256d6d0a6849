"""What a name stands for: a parameter, what is assigned to it anywhere in its function, or a definition."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tests.surface.classes import Classes
from tests.surface.scopes import Scope, names_in, own_nodes, parameters_of, unpack
from tests.surface.shape import UNKNOWN, Callee, Shape, items, union
from tests.surface.source import Definition, Function, Source, class_around

Bindings = dict[str, list[Callable[[Scope], Shape]]]


class Names(Classes):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._bindings: dict[ast.AST, Bindings] = {}

    def _local(self, name: str, scope: Scope) -> Shape | None:
        if name in scope.known:
            return scope.known[name]
        bindings = self._bindings_of(scope)
        is_parameter = not isinstance(scope.node, ast.Module) and any(p.arg == name for p in parameters_of(scope.node))
        if name in scope.busy:
            return UNKNOWN
        if name not in bindings and not is_parameter and name not in scope.given:
            return None
        scope.busy.add(name)
        found = scope.given.get(name, UNKNOWN)
        if is_parameter and not isinstance(scope.node, ast.Module):
            found = self._parameter(name, scope, found)
        for binding in bindings.get(name, ()):
            found |= binding(scope)
        scope.busy.discard(name)
        scope.known[name] = found
        return found

    def _parameter(self, name: str, scope: Scope, given: Shape) -> Shape:
        assert not isinstance(scope.node, ast.Module)
        own = class_around(scope.module, scope.node)
        parameters = parameters_of(scope.node)
        if own is not None and name == parameters[0].arg and name in ("self", "cls") and given is UNKNOWN:
            definition = self.source.definition(scope.module, own.name)
            return Shape(instances=(definition,)) if definition else UNKNOWN
        if given is not UNKNOWN:
            return given
        annotated = next(each.annotation for each in parameters if each.arg == name)
        return self.annotation(annotated, scope.module) | self._default(name, scope)

    def _default(self, name: str, scope: Scope) -> Shape:
        arguments = scope.node.args if not isinstance(scope.node, ast.Module) else ast.arguments()
        named = [*arguments.posonlyargs, *arguments.args]
        last = named[len(named) - len(arguments.defaults) :]
        both = [*zip(last, arguments.defaults, strict=True)]
        both += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        return union(
            [self.shape(default, Scope(scope.module, scope.module.tree)) for a, default in both if a.arg == name]
        )

    def _bindings_of(self, scope: Scope) -> Bindings:
        if isinstance(scope.node, ast.Module | ast.Lambda):
            return {}
        if scope.node not in self._bindings:
            found: Bindings = {}
            for each in own_nodes(scope.node):
                self._add_bindings(each, found)
            self._bindings[scope.node] = found
        return self._bindings[scope.node]

    def _add_bindings(self, node: ast.AST, found: Bindings) -> None:
        def bind(target: ast.expr, shape: Callable[[Scope], Shape]) -> None:
            for name in names_in(target):

                def unpacked(scope: Scope, name: str = name) -> Shape:
                    given: dict[str, Shape] = {}
                    unpack(target, shape(scope), given)
                    return given.get(name, UNKNOWN)

                found.setdefault(name, []).append(unpacked)
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                inner = target.slice
                found.setdefault(target.value.id, []).append(
                    lambda scope: Shape(keys=dict.fromkeys(self.shape(inner, scope).texts, shape(scope)))
                )

        match node:
            case ast.Assign():
                for target in node.targets:
                    bind(target, lambda scope: self.shape(node.value, scope))
            case ast.AnnAssign():
                bind(node.target, lambda scope: self._annotated(node, scope))
            case ast.AugAssign():
                bind(node.target, lambda scope: self.shape(node.value, scope))
            case ast.NamedExpr():
                bind(node.target, lambda scope: self.shape(node.value, scope))
            case ast.For():
                bind(node.target, lambda scope: self.shape(node.iter, scope).element)
            case ast.withitem(optional_vars=ast.expr() as target):
                bind(target, lambda scope: self._entered(self.shape(node.context_expr, scope)))
            case ast.FunctionDef():
                name = node.name
                found.setdefault(name, []).append(
                    lambda scope: Shape(callees=(Callee(scope.module, node, scope=scope),))
                )
            case ast.Call(
                func=ast.Attribute(attr="append" | "add" | "extend" as how, value=ast.Name(id=name)), args=[one]
            ):
                found.setdefault(name, []).append(
                    lambda scope: self.shape(one, scope) if how == "extend" else items(self.shape(one, scope))
                )

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> Shape:
        declared, value = self.annotation(node.annotation, scope.module), self.shape(node.value, scope)
        return value | declared if not declared.is_vague else value if value is not UNKNOWN else declared

    def _entered(self, manager: Shape) -> Shape:
        found = [self.member(each, "__enter__") for each in manager.instances]
        entered = union([self.result(callee, (), {}) for shape in found for callee in shape.callees])
        return entered if entered is not UNKNOWN else manager

    def _defined(self, definition: Definition) -> Shape:
        node, module = definition.node, definition.module
        if isinstance(node, ast.ClassDef):
            return Shape(classes=(definition,))
        if isinstance(node, Function):
            return Shape(callees=(Callee(module, node),))
        if isinstance(node, ast.Assign | ast.AnnAssign):
            if node in self._calls:
                return UNKNOWN
            self._calls.append(node)
            try:
                found = self.shape(node.value, Scope(module, module.tree))
                if found is UNKNOWN and isinstance(node, ast.AnnAssign):
                    return self.annotation(node.annotation, module)
                return found
            finally:
                self._calls.pop()
        return UNKNOWN
