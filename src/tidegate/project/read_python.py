"""The text of a Python model → a `PythonSource`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from tidegate.names import nearest
from tidegate.problems import Place, Problem
from tidegate.project.decorator_settings import settings_of_decorators
from tidegate.project.python_source import PythonCallPlace, PythonImport, PythonSource
from tidegate.project.python_tree import NestedTooDeepError, digest_of_tree, docstrings, scope_nodes, tg_names
from tidegate.project.tg_uses import read_uses

__all__ = ["read_python"]

Function = ast.FunctionDef | ast.AsyncFunctionDef

_COMMENT = re.compile(r"\s*#.*@")
_SQL_SETTING = re.compile(r"\s*--\s*(@.*)")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_BARE = r"\b(current_(?:date|time|timestamp|user)|localtimestamp|session_user)\b"
_WITHOUT_PARENTHESES = re.compile(_BARE, re.IGNORECASE)
_ENTRY = "write `def model(tg):` that returns its rows, or set `result`"


def read_python(text: str, file: str) -> PythonSource:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, file)
    except SyntaxError as error:
        message = f"this is not Python: {error.msg}"
        place = Place(file, error.lineno or 1, error.offset or 1)
        problem = Problem("PythonSyntax", message, place, suggestion=_syntax_fix(text, place.line))
        return PythonSource(comments=_comments(text, None), problems=(problem,))
    except (ValueError, RecursionError, MemoryError) as error:
        problem = Problem("PythonSyntax", f"this cannot be read as Python: {error}", Place(file))
        return PythonSource(comments=_comments(text, None), problems=(problem,))
    try:
        return _read(text, file, tree)
    except (NestedTooDeepError, RecursionError):
        problem = Problem("PythonSyntax", "the code is nested too deeply", Place(file))
        return PythonSource(comments=_comments(text, None), problems=(problem,))


def _syntax_fix(text: str, line: int) -> str | None:
    written = text.splitlines()[line - 1 : line]
    setting = _SQL_SETTING.match(written[0]) if written else None
    return f"in Python settings are comments that begin with #: # {setting[1].strip()}" if setting else None


def _read(text: str, file: str, tree: ast.Module) -> PythonSource:
    names = tg_names(tree)
    entries, problems = settings_of_decorators(tree, names, file)
    uses = read_uses(tree, names, file)
    return PythonSource(
        digest=digest_of_tree(tree, names),
        reads=uses.reads,
        queries=uses.queries,
        imports=tuple(_imports(tree, file)),
        uses=uses.names,
        variables=uses.variables,
        calls=tuple(_calls(tree, file)),
        settings=entries,
        comments=_comments(text, tree),
        problems=(*_entry_problems(tree, file), *problems, *uses.problems),
    )


def _entry_problems(tree: ast.Module, file: str) -> Iterator[Problem]:
    functions = [node for node in scope_nodes(tree) if isinstance(node, Function)]
    model = next((function for function in reversed(functions) if function.name == "model"), None)
    if model is not None:
        yield from _signature_problems(model, Place(file, model.lineno, model.col_offset + 1))
        return
    stored = {node.id for node in scope_nodes(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if not stored.isdisjoint({"model", "result"}):
        return
    near = nearest("model", [function.name for function in functions], 1)
    hint = f"rename the function {near[0]}: it must be called model" if near else None
    message = "the file has neither a function `model` nor a `result`"
    yield Problem("MissingModel", message, Place(file), suggestion=hint or _ENTRY)


def _signature_problems(model: Function, place: Place) -> Iterator[Problem]:
    arguments = model.args
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    named = [a.arg for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None]
    what = None
    if isinstance(model, ast.AsyncFunctionDef):
        what = "`model` is an async function"
    elif not positional and arguments.vararg is None:
        what = "`model` takes no parameter"
    elif required > 1:
        what = f"`model` needs {required} arguments"
    elif named:
        what = f"`model` needs the argument {named[0]}"
    elif any(isinstance(node, ast.Yield | ast.YieldFrom) for node in scope_nodes(model)):
        what = "`model` is a generator"
    elif not _may_return(model):
        what = "`model` has no `return`"
    if what:
        message = f"{what}, and it is called with `tg` alone and must return its rows"
        yield Problem("ModelSignature", message, place, suggestion="write `def model(tg):`, with `return` at its end")


def _may_return(function: Function) -> bool:
    """Also where it is yet to be written: `...`"""
    nodes = list(scope_nodes(function))
    written = not any(isinstance(node, ast.Constant) and node.value is ... for node in nodes)
    return not written or any(isinstance(node, ast.Return | ast.Raise) for node in nodes)


def _imports(tree: ast.Module, file: str) -> Iterator[PythonImport]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            place = Place(file, node.lineno, node.col_offset + 1)
            yield from (PythonImport(alias.name, place) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield PythonImport(module, Place(file, node.lineno, node.col_offset + 1))


def _calls(tree: ast.Module, file: str) -> Iterator[PythonCallPlace]:
    seen: dict[str, PythonCallPlace] = {}
    documentation = docstrings(tree)
    for node in ast.walk(tree):
        words: list[str] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            words = [node.func.id if isinstance(node.func, ast.Name) else node.func.attr]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            words = [*_CALLED.findall(node.value), *_WITHOUT_PARENTHESES.findall(node.value)]
        for name in map(str.lower, words):
            if name not in seen and isinstance(node, ast.expr):
                seen[name] = PythonCallPlace(name, Place(file, node.lineno, node.col_offset + 1))
    yield from seen.values()


def _comments(text: str, tree: ast.Module | None) -> tuple[tuple[int, str, bool], ...]:
    """Lines of a text that goes over several are none, whatever they begin with."""
    if "@" not in text:
        return ()
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    inside: set[int] = set()
    first = next((n for n, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")), 0)
    if tree is not None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None:
                inside.update(range(node.lineno + 1, node.end_lineno + 1))
        code = tree.body[1:] if tree.body and ast.get_docstring(tree, clean=False) is not None else tree.body
        first = _first_line(code[0]) if code else 0
    numbered = ((n, line) for n, line in enumerate(lines, 1) if n not in inside and _COMMENT.match(line))
    return tuple((n, line, not first or n < first) for n, line in numbered)


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
