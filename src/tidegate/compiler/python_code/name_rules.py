"""Rules on imports, names and attributes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator

from tidegate.compiler.python_code.allowed_names import LIBRARIES, STANDARD_MODULES, is_known_module, names_of
from tidegate.compiler.python_code.blocked_names import (
    BLOCKED_ATTRIBUTES,
    BLOCKED_BUILTINS,
    BLOCKED_IMPORTS,
    PLAIN_DUNDERS,
    PLAIN_UNDERSCORES,
    TEXT_WRITERS,
    WITH_LITERAL_NAME,
    WITH_STRING_FUNCTION,
)
from tidegate.compiler.python_code.code_problem import CodeProblem, problem_at
from tidegate.compiler.python_code.code_tree import CodeTree
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["NameRules", "is_dunder"]

_SHORT_NAMES = {"pyspark.sql.functions": "F", "pyspark.sql.types": "T"}
_PROJECT_FOLDERS = frozenset({"models", "lib", "checks"})
_OWN_SELF = ("self", "cls")
_PLAIN_BASES = frozenset(
    {
        "object",
        "Exception",
        "ValueError",
        "RuntimeError",
        "TypeError",
        "KeyError",
        "Enum",
        "IntEnum",
        "StrEnum",
        "Flag",
        "IntFlag",
        "NamedTuple",
        "TypedDict",
        "Protocol",
        "Generic",
        "ABC",
        "dict",
        "list",
        "tuple",
        "set",
        "str",
        "int",
        "float",
    }
)


_MATCHED_WHOLE = frozenset(
    {"bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}
)
"""`case int(number)` gives the value itself."""

_ONLY_CALLED = frozenset({"functools.wraps", "pyspark.sql.functions.expr", "pyspark.sql.functions.call_function"})


def is_dunder(name: str) -> bool:
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def blocked_name(name: str) -> tuple[str, str] | None:
    """Why an attribute of any object may not be named so, and what to do instead."""
    if blocked := BLOCKED_ATTRIBUTES.get(name):
        return f"{name} is blocked: {blocked.why}", f"{blocked.instead}; a column of that name is frame['{name}']"
    if is_dunder(name) and name not in PLAIN_DUNDERS:
        return f"{name} is blocked: it reaches the insides of an object", "use what the object's documentation shows"
    if name.startswith("_") and not is_dunder(name) and name not in PLAIN_UNDERSCORES:
        return f"{name} is blocked: it begins with an underscore, so it is not for its users", "use its public names"
    if name.startswith("read_"):
        return f"{name} is blocked: it reads files", "read with tg.ref, tg.landing_zone or tg.sql"
    return None


def _own_file(node: ast.AST) -> CodeProblem:
    fix = "write the code in this file, or install it as a package and allow that: imports = [...] in [sandbox]"
    return problem_at(node, "BlockedImport", "files of the project cannot be imported", fix)


class NameRules:
    def __init__(self, tree: CodeTree, own_imports: Collection[str]) -> None:
        self.tree = tree
        self.own_imports = frozenset(own_imports)
        self.modules: dict[str, set[str]] = defaultdict(set)
        """The known modules that a name may stand for."""
        self.imported: dict[str, set[str]] = defaultdict(set)
        """The qualified names that a name imported with `from` may stand for."""
        for node in tree.nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._learn(node)

    def _learn(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                if is_known_module(alias.name):
                    self.modules[alias.asname or top].add(alias.name if alias.asname else top)
            return
        for alias in node.names:
            qualified, name = f"{node.module}.{alias.name}", alias.asname or alias.name
            (self.modules if is_known_module(qualified) else self.imported)[name].add(qualified)

    def qualified(self, node: ast.AST) -> frozenset[str]:
        """What of a known module an expression names, such as `pyspark.sql.functions.expr`."""
        if isinstance(node, ast.Name):
            return frozenset(self.imported.get(node.id, ()))
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if not parts or not isinstance(node, ast.Name):
            return frozenset()
        starts = self.modules.get(node.id, set()) | self.imported.get(node.id, set())
        return frozenset(".".join([start, *parts]) for start in starts)

    def check(self, node: ast.AST) -> Iterator[CodeProblem]:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from self._imports(node)
            case ast.Name():
                yield from self._name(node)
                yield from self._only_called(node)
            case ast.Attribute():
                if not self._starts_at_module(node):
                    yield from self._attribute(node, node.attr)
                yield from self._only_called(node)
            case ast.MatchClass(kwd_attrs=names):
                for name in names:
                    yield from self._attribute(node, name)
                if node.patterns and not self._is_matched_whole(node.cls):
                    # A dataclass names its fields, and a class that registers another gives their names to it.
                    message = "a class pattern without names reads attributes whose names no check sees"
                    fix = "write the names: `case Point(x=first, y=second)`"
                    yield problem_at(node, "BlockedAttribute", message, fix)
            case ast.keyword(arg=str(name)) if is_dunder(name) and name not in PLAIN_DUNDERS:
                yield self._bound(node, name)
            case ast.Call():
                yield from self._call(node)

    def _is_matched_whole(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Name) or node.id not in _MATCHED_WHOLE:
            return False
        given = self.tree.bound | self.tree.classes.keys() | self.imported.keys() | self.modules.keys()
        return node.id not in given

    def _imports(self, node: ast.Import | ast.ImportFrom) -> Iterator[CodeProblem]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self._module(node, alias.name)
        elif node.level:
            yield _own_file(node)
        elif problems := list(self._module(node, node.module or "")):
            yield from problems
        elif any(alias.name == "*" for alias in node.names):
            message = f"import * from {node.module} is blocked: no check sees which names it brings"
            parent, _, name = (node.module or "").rpartition(".")
            short = _SHORT_NAMES.get(node.module or "")
            fix = f", or write: from {parent} import {name} as {short}" if short else ""
            yield problem_at(node, "BlockedImport", message, f"name what you use{fix}")
        else:
            for alias in node.names:
                yield from self._from(node, node.module or "", alias.name)

    def _module(self, node: ast.AST, module: str) -> Iterator[CodeProblem]:
        top = module.partition(".")[0]
        if self._is_own(module) or is_known_module(module):
            return
        parts = module.split(".")
        wholes = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        if blocked := next((BLOCKED_IMPORTS[whole] for whole in wholes if whole in BLOCKED_IMPORTS), None):
            yield problem_at(node, "BlockedImport", f"import of {module} is blocked: {blocked.why}", blocked.instead)
        elif top in _PROJECT_FOLDERS:
            yield _own_file(node)
        elif top in (*STANDARD_MODULES, *LIBRARIES):
            message = f"import of {module} is blocked: {top} is allowed, this part of it is not"
            yield problem_at(node, "BlockedImport", message, f"import {top}, and use its documented names")
        else:
            near = did_you_mean(nearest(top, (*STANDARD_MODULES, *LIBRARIES)))
            fix = f'if models may use the package, allow it: imports = ["{top}"] in [sandbox]'
            message = f"import of {module} is blocked: it is not on the list of what models may import"
            yield problem_at(node, "BlockedImport", message, f"{near} {fix}" if near else fix)

    def _is_own(self, module: str) -> bool:
        parts = module.split(".")
        return any(".".join(parts[:end]) in self.own_imports for end in range(1, len(parts) + 1))

    def _from(self, node: ast.AST, module: str, name: str) -> Iterator[CodeProblem]:
        if not is_known_module(module) or self._is_own(module):
            if wrong := blocked_name(name):
                yield problem_at(node, "BlockedAttribute", *wrong)
        elif not is_known_module(f"{module}.{name}"):
            yield from self._member(node, module, name)

    def _member(self, node: ast.AST, module: str, name: str) -> Iterator[CodeProblem]:
        if name in names_of(module) or self._is_own(f"{module}.{name}"):
            return
        whole = f"{module}.{name}"
        if blocked := BLOCKED_IMPORTS.get(whole) or BLOCKED_IMPORTS.get(name) or BLOCKED_ATTRIBUTES.get(name):
            yield problem_at(node, "BlockedAttribute", f"{whole} is blocked: {blocked.why}", blocked.instead)
            return
        if name.startswith("read_") or name in (
            "load",
            "loadtxt",
            "genfromtxt",
            "fromfile",
            "save",
            "savez",
            "savetxt",
        ):
            message, fix = (
                f"{whole} is blocked: it reads or writes files",
                "read with tg.ref, tg.landing_zone or tg.sql",
            )
            yield problem_at(node, "BlockedAttribute", message, fix)
            return
        near = did_you_mean(nearest(name, names_of(module)))
        message = f"{whole} is blocked: it is not on the list of what models may use of {module}"
        yield problem_at(node, "BlockedAttribute", message, near or "docs/sandbox.md shows what may be used")

    def _name(self, node: ast.Name) -> Iterator[CodeProblem]:
        name = node.id
        if isinstance(node.ctx, ast.Load) and name in self.modules:
            yield from self._of_module(node)
        if blocked := BLOCKED_BUILTINS.get(name):
            if name in WITH_LITERAL_NAME and self._is_called(node):
                return  # `_call` looks at the name that it is given
            fix = blocked.instead if isinstance(node.ctx, ast.Load) else "choose another name"
            yield problem_at(node, "BlockedBuiltin", f"{name} is blocked: {blocked.why}", fix)
        elif is_dunder(name) and name not in PLAIN_DUNDERS:
            yield self._bound(node, name)
        elif name == "type" and isinstance(node.ctx, ast.Load) and not self._is_plain_type(node):
            message = "type with other than one argument makes classes that no check sees"
            yield problem_at(node, "BlockedBuiltin", message, "write a class statement; type(value) is allowed")

    def _only_called(self, node: ast.Name | ast.Attribute) -> Iterator[CodeProblem]:
        for whole in sorted(self.qualified(node) & _ONLY_CALLED):
            if isinstance(node.ctx, ast.Load) and not self._is_called(node):
                message = f"{whole} is used as a value, so no check sees what it is given"
                yield problem_at(node, "BlockedAttribute", message, "call it where it is named")

    def _starts_at_module(self, node: ast.Attribute) -> bool:
        """Whether `_of_module` looks at this attribute."""
        parts = [node.attr]
        value = node.value
        while isinstance(value, ast.Attribute):
            parts.insert(0, value.attr)
            value = value.value
        if not isinstance(value, ast.Name) or not isinstance(value.ctx, ast.Load):
            return False
        before = ["", *(f".{'.'.join(parts[:end])}" for end in range(1, len(parts)))]
        return any(
            all(is_known_module(f"{module}{part}") for part in before) for module in self.modules.get(value.id, ())
        )

    def _bound(self, node: ast.AST, name: str) -> CodeProblem:
        return problem_at(
            node,
            "BlockedAttribute",
            f"{name} is blocked: it belongs to the insides of Python",
            "choose another name",
        )

    def _of_module(self, node: ast.Name) -> Iterator[CodeProblem]:
        """Modules are used with a dot behind them alone; so no other name can stand for one."""
        for module in sorted(self.modules[node.id]):
            at: ast.AST = node
            while True:
                parent = self.tree.parents.get(at)
                if not isinstance(parent, ast.Attribute):
                    message = f"the module {module} is used as a value, so no check sees what is used of it"
                    yield problem_at(node, "BlockedImport", message, f"name what you need of it: {node.id}.…")
                    break
                if not isinstance(parent.ctx, ast.Load):
                    message = f"{module}.{parent.attr} is set: modules may not be changed"
                    yield problem_at(parent, "BlockedAttribute", message, "keep the value in a name of your own")
                    break
                if not is_known_module(f"{module}.{parent.attr}"):
                    yield from self._member(parent, module, parent.attr)
                    break
                module, at = f"{module}.{parent.attr}", parent

    def _is_called(self, node: ast.AST) -> bool:
        parent = self.tree.parents.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    def _is_plain_type(self, node: ast.Name) -> bool:
        parent = self.tree.parents.get(node)
        match parent:
            case ast.Call(func=func, args=[one], keywords=[]) if func is node:
                outer = self.tree.parents.get(parent)
                called = isinstance(outer, ast.Call) and outer.func is parent and len(outer.args) > 2
                return not isinstance(one, ast.Starred) and not called
            case ast.Subscript(value=value):
                return value is node
            case ast.Compare() | ast.arg() | ast.AnnAssign() | ast.BinOp():
                return True
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, second]):
                return second is node
        return False

    def _attribute(self, node: ast.AST, name: str) -> Iterator[CodeProblem]:
        if name in TEXT_WRITERS:
            if not self._gives_text(node):
                message = f"{name} is blocked where it is given a place: it writes files"
                yield problem_at(_end(node), "BlockedAttribute", message, "return rows: Tidegate writes them")
            return
        if name == "format" and isinstance(node, ast.Attribute) and self.tree.text(node.value) is None:
            message = "format of a text that is not written here is blocked: it reaches attributes by their names"
            yield problem_at(_end(node), "BlockedText", message, "write an f-string")
            return
        wrong = blocked_name(name)
        if wrong is not None and not self._is_own_attribute(node, name):
            yield problem_at(_end(node), "BlockedAttribute", *wrong)

    def _gives_text(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Attribute) or not self._is_called(node):
            return False
        call = self.tree.parents[node]
        assert isinstance(call, ast.Call)
        given = {keyword.arg for keyword in call.keywords}
        return not call.args and given.isdisjoint({None, "path_or_buf", "path_or_buffer", "buf", "excel_writer"})

    def _is_own_attribute(self, node: ast.AST, name: str) -> bool:
        """`self._x` in a class of this file that sets or defines `_x`."""
        if is_dunder(name) or not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return False
        own = node.value.id
        if own not in _OWN_SELF or name in BLOCKED_ATTRIBUTES or any(v is not None for v in self.tree.values[own]):
            return False
        for above in self.tree.above(node):
            if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                first = [*above.args.posonlyargs, *above.args.args][:1]
                if not any(arg.arg == own for arg in _arguments(above.args)):
                    continue
                cls = self.tree.parents.get(above)
                return (
                    isinstance(cls, ast.ClassDef)
                    and bool(first)
                    and first[0].arg == own
                    and self._is_plain_class(cls)
                    and name in self._defined_in(cls)
                )
        return False

    def _is_plain_class(self, cls: ast.ClassDef) -> bool:
        def plain(base: ast.expr) -> bool:
            base = base.value if isinstance(base, ast.Subscript) else base
            name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            return name in _PLAIN_BASES or name in self.tree.classes

        return all(map(plain, cls.bases))

    def _defined_in(self, cls: ast.ClassDef, depth: int = 0) -> set[str]:
        """With what its bases in this file define."""
        names = {node.name for node in cls.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        for node in ast.walk(cls):
            match node:
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                    names.add(name)
                case ast.Name(id=name, ctx=ast.Store()):
                    names.add(name)
        for base in cls.bases if depth < 5 else ():
            for other in self.tree.classes.get(getattr(base, "id", ""), ()):
                names |= self._defined_in(other, depth + 1)
        return names

    def _call(self, node: ast.Call) -> Iterator[CodeProblem]:
        if isinstance(node.func, ast.Name) and node.func.id in WITH_LITERAL_NAME:
            yield from self._computed(node, node.func.id)
        if "functools.wraps" in self.qualified(node.func):
            if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
                message = "functools.wraps with names of attributes is blocked: it copies any attribute"
                yield problem_at(node, "BlockedAttribute", message, "write @functools.wraps(function)")
        elif isinstance(node.func, ast.Attribute) and node.func.attr in WITH_STRING_FUNCTION:
            yield from self._named_functions(node, node.func.attr)

    def _computed(self, node: ast.Call, called: str) -> Iterator[CodeProblem]:
        name = node.args[1] if len(node.args) > 1 else None
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            message = f"{called} with a name that is computed is blocked: {BLOCKED_BUILTINS[called].why}"
            yield problem_at(node, "BlockedBuiltin", message, "write the name itself, with a dot before it")
        elif isinstance(node.args[0], ast.Name) and node.args[0].id in self.modules:
            return  # reported as a module that is used as a value
        elif (wrong := blocked_name(name.value)) or name.value == "format" or name.value in TEXT_WRITERS:
            message, fix = wrong or (f"{called} with '{name.value}' is blocked", "call it with a dot before it")
            yield problem_at(name, "BlockedAttribute", message, fix)

    def _named_functions(self, node: ast.Call, called: str) -> Iterator[CodeProblem]:
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            for text in _texts_in(value):
                name = self.tree.text(text)
                if name is None and isinstance(text, ast.JoinedStr):
                    message = f"{called} with the name of a function that is computed is blocked"
                    yield problem_at(text, "BlockedBuiltin", message, "write the name itself")
                elif name is not None and (blocked_name(name) or name in TEXT_WRITERS or name in ("pipe", "format")):
                    message = f"{called} with '{name}' is blocked: it looks up an attribute of that name"
                    yield problem_at(text, "BlockedAttribute", message, "write a function or the name of an aggregate")


def _texts_in(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from _texts_in(part)
        case ast.Dict(values=parts):
            for part in parts:
                yield from _texts_in(part)
        case ast.Constant(value=str()) | ast.JoinedStr() | ast.BinOp() | ast.Name() | ast.Call() | ast.Subscript():
            yield node


def _arguments(given: ast.arguments) -> Iterator[ast.arg]:
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)
    yield from (arg for arg in (given.vararg, given.kwarg) if arg is not None)


def _end(node: ast.AST) -> ast.AST:
    """The name behind the dot, where a person looks for it."""
    if not isinstance(node, ast.Attribute) or node.end_lineno is None or node.end_col_offset is None:
        return node
    place = ast.Name(node.attr)
    place.lineno, place.col_offset = node.end_lineno, node.end_col_offset - len(node.attr.encode())
    return place
