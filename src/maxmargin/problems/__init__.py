"""Training problems: objective and dual objective of each model, and what a solver returns."""

from maxmargin.problems.intercept import Intercept, best_intercept
from maxmargin.problems.kernel import KernelProblem, combine_columns
from maxmargin.problems.linear import LinearProblem, linear_scores
from maxmargin.problems.problem import Pieces, Problem, ProblemKind
from maxmargin.problems.shared import SharedRows, TaskRows, is_source
from maxmargin.problems.solution import History, Solution, Status
from maxmargin.problems.specification import Specification
from maxmargin.problems.tasks import AllClasses, OneClass, OneVersusRest, Pair, Regression, Task

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
