"""One file of Python against all rules."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Iterator

from tidegate.compiler.python_code.code_problem import CodeProblem
from tidegate.compiler.python_code.code_tree import DEEPEST, CodeTree, NestedTooDeeplyError
from tidegate.compiler.python_code.definition_rules import check_definition
from tidegate.compiler.python_code.encoding_rules import check_text
from tidegate.compiler.python_code.name_rules import NameRules
from tidegate.compiler.python_code.text_rules import check_texts

__all__ = ["SYNTAX", "check_source"]

SYNTAX = "PythonSyntax"


def check_source(source: str, file: str, allowed_imports: Collection[str] = ()) -> tuple[CodeProblem, ...]:
    """What is not allowed in a file of Python that is not trusted, in order of place. It is never run.

    `file`: relative to the project. `allowed_imports`: packages that the project allows.
    """
    problems = list(check_text(source))
    if problems:
        return tuple(problems)
    text = source.removeprefix("\ufeff")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, file)
    except SyntaxError as error:
        message, fix = f"this is not Python: {error.msg}", "correct the line"
        return (CodeProblem(error.lineno or 1, error.offset or 1, SYNTAX, message, fix),)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        message = f"this cannot be read as Python: {error or type(error).__name__}"
        return (CodeProblem(1, 1, "BlockedSource", message, "write it in shorter expressions"),)
    try:
        found = CodeTree(tree)
    except NestedTooDeeplyError as error:
        message = f"expressions or blocks are nested more than {DEEPEST} deep"
        return (CodeProblem(error.line, 1, "BlockedSource", message, "write it in shorter expressions"),)
    lines = text.split("\n")
    problems = [_in_characters(problem, lines) for problem in _problems(found, allowed_imports)]
    return tuple(sorted(set(problems)))


def _problems(tree: CodeTree, allowed_imports: Collection[str]) -> Iterator[CodeProblem]:
    names = NameRules(tree, allowed_imports)
    imported = _imported_names(tree)
    for node in tree.nodes:
        yield from names.check(node)
        yield from check_definition(node, tree, imported)
        yield from check_texts(node, tree, names)


def _imported_names(tree: CodeTree) -> frozenset[str]:
    imports = (node for node in tree.nodes if isinstance(node, ast.Import | ast.ImportFrom))
    return frozenset(alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names)


def _in_characters(problem: CodeProblem, lines: list[str]) -> CodeProblem:
    """The parser counts columns in bytes."""
    line = lines[problem.line - 1] if problem.line <= len(lines) else ""
    if line.isascii():
        return problem
    before = line.encode("utf-8", "surrogatepass")[: problem.col - 1]
    return problem._replace(col=len(before.decode("utf-8", "ignore")) + 1)
