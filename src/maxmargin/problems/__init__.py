"""Training problems: objective and dual objective of each model, and what a solver returns."""

from maxmargin.data.source import is_source
from maxmargin.problems.intercept import Intercept, best_intercept
from maxmargin.problems.kernel import KernelProblem, combine_columns
from maxmargin.problems.problem import LinearProblem, Pieces, Problem, ProblemKind, linear_scores
from maxmargin.problems.shared import SharedRows, TaskRows
from maxmargin.problems.solution import History, Solution, Status
from maxmargin.problems.specification import AllClasses, OneClass, OneVersusRest, Pair, Regression, Specification, Task

__all__ = [
    "AllClasses",
    "History",
    "Intercept",
    "KernelProblem",
    "LinearProblem",
    "OneClass",
    "OneVersusRest",
    "Pair",
    "Pieces",
    "Problem",
    "ProblemKind",
    "Regression",
    "SharedRows",
    "Solution",
    "Specification",
    "Status",
    "Task",
    "TaskRows",
    "best_intercept",
    "combine_columns",
    "is_source",
    "linear_scores",
]
