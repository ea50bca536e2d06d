"""Losses: each knows its curve, its conjugate and its place in the dual, never the data."""

from maxmargin.losses.base import CurveLoss, DualBox, Loss, MarginLoss, ResidualLoss, from_record
from maxmargin.losses.margin import HardMargin, Hinge, Logistic, SquaredHinge
from maxmargin.losses.multiclass import CrammerSinger, MulticlassLoss, Softmax
from maxmargin.losses.residual import Absolute, EpsilonInsensitive, Squared, SquaredEpsilonInsensitive

__all__ = [
    "Absolute",
    "CrammerSinger",
    "CurveLoss",
    "DualBox",
    "EpsilonInsensitive",
    "HardMargin",
    "Hinge",
    "Logistic",
    "Loss",
    "MarginLoss",
    "MulticlassLoss",
    "ResidualLoss",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "from_record",
]
