"""What is known of a class: its bases, its fields and members, and what an annotation stands for."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from tests.surface.scopes import Scope, own_nodes, parameters_of
from tests.surface.shape import UNKNOWN, Callee, Shape, items, union
from tests.surface.source import Definition, Function, Module, Source, function_around

_SEQUENCES = frozenset(
    ("list", "tuple", "set", "frozenset", "Sequence", "Iterable", "Iterator", "Collection", "Set", "Generator")
)
_MAPPINGS = frozenset(("dict", "Mapping", "MutableMapping", "MappingProxyType", "defaultdict"))


class Classes(ABC):
    def __init__(self, source: Source) -> None:
        self.source = source
        self._calls: list[ast.AST] = []
        self._members: dict[tuple[Definition, str], Shape] = {}
        self._fields: dict[tuple[Definition, str], Shape] = {}

    @abstractmethod
    def shape(self, node: ast.expr | None, scope: Scope) -> Shape: ...

    @abstractmethod
    def result(self, callee: Callee, arguments: Sequence[Shape], keywords: Mapping[str, Shape]) -> Shape: ...

    def scope_around(self, module: Module, node: ast.AST) -> Scope:
        function = function_around(module, node)
        if function is None:
            return Scope(module, module.tree)
        return self.scope_of(module, function)

    def scope_of(self, module: Module, function: Function, given: Mapping[str, Shape] | None = None) -> Scope:
        outer = function_around(module, function)
        return Scope(module, function, given or {}, self.scope_of(module, outer) if outer else None)

    def bases(self, definition: Definition) -> Iterator[Definition]:
        """The class itself, then what it derives from."""
        yield definition
        assert isinstance(definition.node, ast.ClassDef)
        for base in definition.node.bases:
            name = base.value if isinstance(base, ast.Subscript) else base
            above = self.source.definition(definition.module, name.id) if isinstance(name, ast.Name) else None
            if above is not None and isinstance(above.node, ast.ClassDef):
                yield from self.bases(above)

    def dataclass_fields(self, definition: Definition) -> dict[str, Shape]:
        """By name, those of base classes first."""
        found: dict[str, Shape] = {}
        for base in reversed([*self.bases(definition)]):
            assert isinstance(base.node, ast.ClassDef)
            if not any("dataclass" in ast.unparse(each) for each in base.node.decorator_list):
                continue
            for node in base.node.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    found[node.target.id] = self._field(base, node)
        return found

    def _field(self, owner: Definition, node: ast.AnnAssign) -> Shape:
        """By its annotation; where that says only `Mapping`, by what is passed under its name."""
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        if (owner, name) not in self._fields:
            declared = self._fields[owner, name] = self.annotation(node.annotation, owner.module)
            if declared.is_vague:
                passed = [self._passed_to(owner, *each) for each in self._passed(owner, name)]
                found = union([shape for shape in passed if shape is not UNKNOWN])
                self._fields[owner, name] = declared if found is UNKNOWN else found
        return self._fields[owner, name]

    def _field_names(self, owner: Definition) -> set[str]:
        assert isinstance(owner.node, ast.ClassDef)
        declared = [node.target for node in owner.node.body if isinstance(node, ast.AnnAssign)]
        return {target.id for target in declared if isinstance(target, ast.Name)}

    def _passed(self, owner: Definition, name: str) -> Iterator[tuple[Module, ast.Call, ast.expr]]:
        for made in (f"{owner.name}(", "replace("):
            for module, call in self.source.calls(made, f"{name}="):
                if ast.unparse(call.func).endswith(made[:-1]):
                    yield from ((module, call, keyword.value) for keyword in call.keywords if keyword.arg == name)

    def _passed_to(self, owner: Definition, module: Module, call: ast.Call, value: ast.expr) -> Shape:
        scope = self.scope_around(module, call)
        if isinstance(call.func, ast.Name) and call.func.id == "replace" and call.args:
            made = self.shape(call.args[0], scope).instances
            if not made and {each.arg for each in call.keywords} <= self._field_names(owner):
                made = (owner,)
        else:
            made = self.shape(call.func, scope).classes
        return self.shape(value, scope) if owner in made else UNKNOWN

    def _method(self, definition: Definition, name: str) -> tuple[Definition, ast.AST] | None:
        for base in self.bases(definition):
            assert isinstance(base.node, ast.ClassDef)
            for node in base.node.body:
                if isinstance(node, Function) and node.name == name:
                    return base, node
        return None

    def member(self, definition: Definition, name: str) -> Shape:
        key = definition, name
        if key not in self._members:
            self._members[key] = UNKNOWN  # while it is being found
            self._members[key] = self._find_member(definition, name)
        return self._members[key]

    def _find_member(self, definition: Definition, name: str) -> Shape:
        if not isinstance(definition.node, ast.ClassDef):
            return UNKNOWN
        if (method := self._method(definition, name)) is not None:
            base, node = method
            assert isinstance(node, Function)
            decorators = [ast.unparse(each) for each in node.decorator_list]
            bound = None if "staticmethod" in decorators else Shape(instances=(definition,))
            callee = Callee(base.module, node, bound)
            return (
                self.result(callee, (), {})
                if {"property", "cached_property"} & {*decorators}
                else Shape(callees=(callee,))
            )
        for base in self.bases(definition):
            assert isinstance(base.node, ast.ClassDef)
            for each in base.node.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id == name:
                    is_field = any("dataclass" in ast.unparse(d) for d in base.node.decorator_list)
                    value = self.shape(each.value, Scope(base.module, base.module.tree)) if not is_field else UNKNOWN
                    return self._field(base, each) | value
                if isinstance(each, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in each.targets):
                    return self.shape(each.value, Scope(base.module, base.module.tree))
            if (made := self._set_in_init(base, name)) is not UNKNOWN:
                return made
        return UNKNOWN

    def _set_in_init(self, definition: Definition, name: str) -> Shape:
        method = self._method(definition, "__init__")
        if method is None or method[1] in self._calls:
            return UNKNOWN
        base, init = method
        assert isinstance(init, Function)
        self._calls.append(init)
        untyped = [
            each.arg for each in parameters_of(init) if each.annotation and "Any" in ast.unparse(each.annotation)
        ]
        passed = {each: union([self._passed_to(base, *call) for call in self._passed(base, each)]) for each in untyped}
        scope, found = self.scope_of(base.module, init, passed), UNKNOWN
        for node in own_nodes(init):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in targets:
                if (
                    isinstance(node, ast.Assign | ast.AnnAssign)
                    and isinstance(target, ast.Attribute)
                    and target.attr == name
                ):
                    declared = isinstance(node, ast.AnnAssign)
                    found |= self._annotated(node, scope) if declared else self.shape(node.value, scope)
        self._calls.pop()
        return found

    def as_dictionary(self, shape: Shape, above: tuple[Definition, ...] = ()) -> Shape:
        """What `asdict` gives: dataclasses become dictionaries, at any depth."""
        found = Shape(
            {name: self.as_dictionary(part, above) for name, part in shape.keys.items()},
            None if shape.value is None else self.as_dictionary(shape.value, above),
            None if shape.item is None else self.as_dictionary(shape.item, above),
            tuple(self.as_dictionary(part, above) for part in shape.positions),
        )
        for definition in shape.instances:
            if definition not in above:
                fields = self.dataclass_fields(definition)
                inner = (*above, definition)
                found |= Shape({name: self.as_dictionary(part, inner) for name, part in fields.items()})
        return found

    def annotation(self, node: ast.expr | None, module: Module, bound: Shape | None = None) -> Shape:
        match node:
            case ast.Constant(value=str() as quoted):
                return self.annotation(ast.parse(quoted, mode="eval").body, module, bound)
            case ast.BinOp(op=ast.BitOr()):
                return self.annotation(node.left, module, bound) | self.annotation(node.right, module, bound)
            case ast.Name(id="Self"):
                return bound or UNKNOWN
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return self._named_type(name, module)
            case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name)):
                inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                parts = [self.annotation(each, module, bound) for each in inner]
                if name in _MAPPINGS:
                    return Shape(value=parts[-1])
                if name == "tuple" and not (isinstance(inner[-1], ast.Constant) and inner[-1].value is ...):
                    return Shape(positions=tuple(parts))
                if name in _SEQUENCES:
                    return items(parts[0])
                if name in ("Optional", "Final", "ClassVar", "Annotated", "AbstractContextManager"):
                    return parts[0]
                return self._named_type(name, module)
        return UNKNOWN

    def _named_type(self, name: str, module: Module) -> Shape:
        definition = self.source.definition(module, name)
        if definition is None:
            return Shape(value=UNKNOWN) if name in _MAPPINGS else UNKNOWN
        if isinstance(definition.node, ast.ClassDef):
            return Shape(instances=(definition,))
        if isinstance(definition.node, ast.Assign):
            return self.annotation(definition.node.value, definition.module)
        return UNKNOWN
