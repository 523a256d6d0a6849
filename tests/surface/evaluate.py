"""Finds the shape of an expression by following names, calls, annotations and dataclasses through the source.

Nothing is run. Where the source does not tell, the shape is unknown, which adds no key.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from tests.surface.names import Names
from tests.surface.scopes import Scope, is_same, own_nodes, parameters_of, unpack
from tests.surface.shape import UNKNOWN, Callee, Shape, items, number, text, union
from tests.surface.source import Function

_TRANSPARENT = frozenset(("MappingProxyType", "copy", "deepcopy", "redacted", "replace"))
"""Functions that give what they are given, or a changed copy of it with the same keys."""

_SAME_KEYS = frozenset({"HiddenColumnRedactor"})
"""Classes whose methods replace values of the dictionary that they are given, and none of its keys."""

_DEEPEST = 40


class Evaluator(Names):
    """One method for each kind of expression, named as `ast` names it."""

    def shape(self, node: ast.expr | None, scope: Scope) -> Shape:
        if node is None:
            return UNKNOWN
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        return UNKNOWN if method is None else method(node, scope)

    def _constant(self, node: ast.Constant, scope: Scope) -> Shape:
        if isinstance(node.value, str):
            return text(node.value)
        return number(node.value) if isinstance(node.value, int) and not isinstance(node.value, bool) else UNKNOWN

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Shape:
        parts = [self.shape(p.value if isinstance(p, ast.FormattedValue) else p, scope).texts for p in node.values]
        return text(*map("".join, product(*parts))) if all(parts) else UNKNOWN

    def _dict(self, node: ast.Dict, scope: Scope) -> Shape:
        found = UNKNOWN
        for key, value in zip(node.keys, node.values, strict=True):
            found |= self.shape(value, scope) if key is None else self._entry(key, value, scope)
        return found

    def _entry(self, key: ast.expr, value: ast.expr, scope: Scope) -> Shape:
        names, shape = self.shape(key, scope).texts, self.shape(value, scope)
        return Shape(keys=dict.fromkeys(names, shape)) if names else Shape(value=shape)

    def _dictcomp(self, node: ast.DictComp, scope: Scope) -> Shape:
        return union([self._entry(node.key, node.value, inner) for inner in self._rounds(node.generators, scope)])

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope) -> Shape:
        return items(union([self.shape(node.elt, inner) for inner in self._rounds(node.generators, scope)]))

    _setcomp = _generatorexp = _listcomp

    def inside(self, generators: Sequence[ast.comprehension], scope: Scope) -> Scope:
        """The names in a comprehension, each with all that it takes."""
        for each in generators:
            given: dict[str, Shape] = {}
            unpack(each.target, self.shape(each.iter, scope).element, given)
            scope = Scope(scope.module, scope.module.tree, given, scope)
        return scope

    def _rounds(self, generators: Sequence[ast.comprehension], scope: Scope) -> Iterator[Scope]:
        """A scope for each key where the keys are known, else one for all."""
        if not generators:
            yield scope
            return
        first, *rest = generators
        over = self.shape(first.iter, scope)
        each = [text(name) for name in sorted(over.element.texts)]
        pairs = isinstance(first.iter, ast.Call) and getattr(first.iter.func, "attr", "") == "items"
        if pairs and isinstance(first.iter, ast.Call) and isinstance(first.iter.func, ast.Attribute):
            mapping = self.shape(first.iter.func.value, scope)
            each = [Shape(positions=(text(name), part)) for name, part in mapping.keys.items()]
        for element in each or [over.element]:
            given: dict[str, Shape] = {}
            unpack(first.target, element, given)
            inner = Scope(scope.module, scope.module.tree, given, scope)
            if all(self._may_hold(condition, inner) for condition in first.ifs):
                yield from self._rounds(rest, inner)

    def _may_hold(self, condition: ast.expr, scope: Scope) -> bool:
        if not isinstance(condition, ast.Compare) or len(condition.ops) != 1:
            return True
        left, right = self.shape(condition.left, scope).texts, self.shape(condition.comparators[0], scope)
        values = right.texts | right.element.texts
        if len(left) != 1 or not values:
            return True
        if isinstance(condition.ops[0], ast.NotEq | ast.NotIn):
            return not left <= values
        return left <= values if isinstance(condition.ops[0], ast.Eq | ast.In) else True

    def _list(self, node: ast.List | ast.Set, scope: Scope) -> Shape:
        return items(union([self.shape(element, scope) for element in node.elts]))

    _set = _list

    def _tuple(self, node: ast.Tuple, scope: Scope) -> Shape:
        if any(isinstance(element, ast.Starred) for element in node.elts):
            return items(union([self.shape(element, scope) for element in node.elts]))
        return Shape(positions=tuple(self.shape(element, scope) for element in node.elts))

    def _starred(self, node: ast.Starred, scope: Scope) -> Shape:
        return self.shape(node.value, scope).element

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Shape:
        return self.shape(node.body, scope) | self.shape(node.orelse, scope)

    def _boolop(self, node: ast.BoolOp, scope: Scope) -> Shape:
        return union([self.shape(value, scope) for value in node.values])

    def _binop(self, node: ast.BinOp, scope: Scope) -> Shape:
        if not isinstance(node.op, ast.BitOr | ast.Add | ast.BitAnd | ast.Sub):
            return UNKNOWN
        left, right = self.shape(node.left, scope), self.shape(node.right, scope)
        return Shape() if left.numbers or right.numbers else left | right

    def _namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Shape:
        return self.shape(node.value, scope)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Shape:
        return Shape(callees=(Callee(scope.module, node, scope=scope),))

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Shape:
        base = self.shape(node.value, scope)
        if isinstance(node.slice, ast.Slice):
            return items(base.element)
        names = self.shape(node.slice, scope).texts
        if found := [base.keys[name] for name in names if name in base.keys]:
            return union(found)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int) and base.positions:
            return base.positions[node.slice.value] if node.slice.value < len(base.positions) else UNKNOWN
        return (base.item or UNKNOWN) | base.any_value

    def _name(self, node: ast.Name, scope: Scope) -> Shape:
        inside: Scope | None = scope
        while inside is not None:
            found = self._local(node.id, inside)
            if found is not None:
                return found
            inside = inside.outer
        definition = self.source.definition(scope.module, node.id)
        return UNKNOWN if definition is None else self._defined(definition)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Shape:
        if isinstance(node.value, ast.Name):
            module = self.source.module_named(scope.module, node.value.id)
            if module is not None and (definition := self.source.definition(module, node.attr)):
                return self._defined(definition)
        base = self.shape(node.value, scope)
        if not base.instances:
            base |= self._narrowed(node.value, scope)
        if node.attr == "__dataclass_fields__":
            return union([Shape(keys=self.dataclass_fields(each)) for each in base.instances])
        members = [self.member(each, node.attr) for each in (*base.instances, *base.classes)]
        return union(members)

    def _narrowed(self, node: ast.expr, scope: Scope) -> Shape:
        """The classes that `isinstance` around the expression names for it."""
        parent, wanted = scope.module.parents.get(node), ast.unparse(node)
        while parent is not None and not isinstance(parent, Function):
            if isinstance(parent, ast.If | ast.IfExp):
                for test in ast.walk(parent.test):
                    if isinstance(test, ast.Call) and ast.unparse(test).startswith(f"isinstance({wanted}, "):
                        return self.annotation(test.args[1], scope.module)
            parent = scope.module.parents.get(parent)
        return UNKNOWN

    def _call(self, node: ast.Call, scope: Scope) -> Shape:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        arguments = [self.shape(argument, scope) for argument in node.args]
        first = arguments[0] if arguments else UNKNOWN
        if isinstance(node.func, ast.Attribute) and (found := self._container_call(node, name, arguments, scope)):
            return found
        callee = self.shape(node.func, scope)
        if not callee.callees and not callee.classes:
            return self._builtin(node, name, arguments, first, scope)
        keywords = {each.arg: self.shape(each.value, scope) for each in node.keywords if each.arg}
        for each in node.keywords:
            if each.arg is None:
                keywords |= self.shape(each.value, scope).keys
        made = Shape(instances=callee.classes)
        if name in _TRANSPARENT:
            return first
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        positional = [] if starred else arguments
        return union([made, *(self.result(each, positional, keywords) for each in callee.callees)])

    def _container_call(self, node: ast.Call, name: str, arguments: list[Shape], scope: Scope) -> Shape | None:
        assert isinstance(node.func, ast.Attribute)
        if name not in ("items", "values", "keys", "get", "pop", "setdefault", "copy", "upper", "lower", "union"):
            return None
        base = self.shape(node.func.value, scope)
        if base.texts and name in ("upper", "lower"):
            return text(*(getattr(each, name)() for each in base.texts))
        if base.instances and any(self._method(each, name) for each in base.instances):
            return None
        if name == "items":
            return items(Shape(positions=(text(*base.keys), base.any_value)))
        if name == "values":
            return items(base.any_value)
        if name == "keys":
            return items(text(*base.keys))
        if name in ("copy", "union"):
            return base
        names = arguments[0].texts if arguments else frozenset()
        chosen = [base.keys[each] for each in names if each in base.keys]
        return union([*(chosen or [base.any_value]), *arguments[1:]])

    def _builtin(self, node: ast.Call, name: str, arguments: list[Shape], first: Shape, scope: Scope) -> Shape:
        if name in ("asdict", "astuple"):
            return self.as_dictionary(first)
        if name in ("Counter", "defaultdict"):
            return Shape(value=UNKNOWN)
        if name == "fields":
            names = [field for each in (*first.instances, *first.classes) for field in self.dataclass_fields(each)]
            return items(Shape(keys={"name": text(*names)}))
        if name == "dict":
            return first | Shape(keys={each.arg: self.shape(each.value, scope) for each in node.keywords if each.arg})
        if name in ("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "chain"):
            return items(first.element)
        if name == "from_iterable":
            return items(first.element.element)
        if name in _TRANSPARENT and isinstance(node.func, ast.Name):
            return first
        if name in ("next", "max", "min"):
            return first.element | union(arguments[1:])
        if name == "fromkeys" and len(arguments) > 1:
            return Shape(keys=dict.fromkeys(first.element.texts, arguments[1])) if first.element.texts else UNKNOWN
        if name == "enumerate":
            return items(Shape(positions=(UNKNOWN, first.element)))
        if name == "zip":
            return items(Shape(positions=tuple(each.element for each in arguments)))
        if name == "map" and len(arguments) > 1:
            return items(union([self.result(each, [arguments[1].element], {}) for each in first.callees]))
        if name == "filter" and len(arguments) > 1:
            return items(arguments[1].element)
        if name == "getattr" and len(arguments) > 1:
            return union([self.member(each, n) for each in first.instances for n in arguments[1].texts])
        if name in ("int", "bool") and arguments:
            return number(0, 1) if name == "int" else UNKNOWN
        return first if name == "partial" else UNKNOWN

    def result(self, callee: Callee, arguments: Sequence[Shape], keywords: Mapping[str, Shape]) -> Shape:
        """What a call gives: by its annotation, or by its body where that says only `dict`."""
        node = callee.node
        if callee.bound and any(each.name in _SAME_KEYS for each in callee.bound.instances) and arguments:
            return arguments[0]
        given = self._bind(callee, arguments, keywords)
        if isinstance(node, ast.Lambda):
            outer = callee.scope if isinstance(callee.scope, Scope) else None
            return self.shape(node.body, Scope(callee.module, node, given, outer))
        declared = self.annotation(node.returns, callee.module, callee.bound)
        if any("contextmanager" in ast.unparse(each) for each in node.decorator_list):
            return declared.element
        if isinstance(node.returns, ast.Name) and self.source.definition(callee.module, node.returns.id) is None:
            generic = [each.arg for each in parameters_of(node) if is_same(each.annotation, node.returns)]
            if passed := [given[name] for name in generic if name in given]:
                return union(passed)
        if node.returns is not None and not declared.is_vague and declared is not UNKNOWN:
            return declared
        found = self.body(callee, given)
        return declared if found is UNKNOWN else found

    def body(self, callee: Callee, given: Mapping[str, Shape]) -> Shape:
        """What its `return` and `yield` statements give."""
        node = callee.node
        if node in self._calls or len(self._calls) > _DEEPEST or isinstance(node, ast.Lambda):
            return UNKNOWN
        self._calls.append(node)
        try:
            scope = self.scope_of(callee.module, node, given)
            found, yielded = UNKNOWN, UNKNOWN
            for each in own_nodes(node):
                if isinstance(each, ast.Return):
                    found |= self.shape(each.value, scope)
                elif isinstance(each, ast.Yield):
                    yielded |= items(self.shape(each.value, scope))
                elif isinstance(each, ast.YieldFrom):
                    yielded |= items(self.shape(each.value, scope).element)
            return found | yielded
        finally:
            self._calls.pop()

    def _bind(self, callee: Callee, arguments: Sequence[Shape], keywords: Mapping[str, Shape]) -> dict[str, Shape]:
        names = [each.arg for each in parameters_of(callee.node)]
        given = dict(zip(names, [callee.bound, *arguments] if callee.bound else arguments, strict=False))
        rest = callee.node.args.kwarg
        given |= {name: shape for name, shape in keywords.items() if name in names or rest is None}
        if rest is not None:
            given[rest.arg] = Shape(keys={name: shape for name, shape in keywords.items() if name not in names})
        return {name: shape for name, shape in given.items() if shape is not UNKNOWN}
