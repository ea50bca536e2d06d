"""Honest evaluation: splits, cross-validation, tests between methods, a sealed test set; paths and searches.

Each of them shares among its fits what can be shared.
"""

from maxmargin.evaluate.comparison import FiveByTwoComparison, compare_five_by_two
from maxmargin.evaluate.cross_validation import CrossValidation, cross_validate
from maxmargin.evaluate.experiment import Experiment, Revealed
from maxmargin.evaluate.grid import Grid, grid
from maxmargin.evaluate.left_out import LeftOut, left_out
from maxmargin.evaluate.path import Path, path
from maxmargin.evaluate.splitters import five_by_two, holdout, k_fold, leave_one_out, train_validation_test

__all__ = [
    "CrossValidation",
    "Experiment",
    "FiveByTwoComparison",
    "Grid",
    "LeftOut",
    "Path",
    "Revealed",
    "compare_five_by_two",
    "cross_validate",
    "five_by_two",
    "grid",
    "holdout",
    "k_fold",
    "leave_one_out",
    "left_out",
    "path",
    "train_validation_test",
]
