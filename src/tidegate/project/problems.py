"""What is wrong with a project's files; the values themselves stand below the rooms that share them."""

from tidegate.problems import Place, Problem, did_you_mean

__all__ = ["Place", "Problem", "did_you_mean"]
