"""The check of Python that is not trusted, on its syntax tree: the first wall, before those of the sandbox."""

from tidegate.compiler.python_code.allowed_names import LIBRARIES, STANDARD_MODULES, names_of
from tidegate.compiler.python_code.blocked_names import BLOCKED_ATTRIBUTES, BLOCKED_BUILTINS, BLOCKED_IMPORTS
from tidegate.compiler.python_code.check_code import SYNTAX, check_source
from tidegate.compiler.python_code.code_problem import CodeProblem

__all__ = [
    "BLOCKED_ATTRIBUTES",
    "BLOCKED_BUILTINS",
    "BLOCKED_IMPORTS",
    "LIBRARIES",
    "STANDARD_MODULES",
    "SYNTAX",
    "CodeProblem",
    "check_source",
    "names_of",
]
