"""Losses: each knows its curve, its conjugate and its place in the dual, never the data."""

from maxmargin.losses.base import CurveLoss, DualBox, Loss, MarginLoss, ResidualLoss
from maxmargin.losses.crammer_singer import CrammerSinger
from maxmargin.losses.hinge import HardMargin, Hinge, SquaredHinge
from maxmargin.losses.insensitive import Absolute, EpsilonInsensitive, SquaredEpsilonInsensitive
from maxmargin.losses.logistic import Logistic
from maxmargin.losses.multiclass import MulticlassLoss
from maxmargin.losses.records import from_record
from maxmargin.losses.softmax import Softmax
from maxmargin.losses.squared import Squared

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
