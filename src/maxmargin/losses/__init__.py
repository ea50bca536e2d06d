"""Losses: each knows its curve, its conjugate and its place in the dual, never the data."""

from maxmargin.losses import margin, multiclass, residual
from maxmargin.losses.base import CurveLoss, DualBox, Loss, MarginLoss, ResidualLoss, from_record
from maxmargin.losses.margin import *
from maxmargin.losses.multiclass import *
from maxmargin.losses.residual import *

__all__ = ["CurveLoss", "DualBox", "Loss", "MarginLoss", "ResidualLoss", "from_record"]
__all__ += [*margin.__all__, *multiclass.__all__, *residual.__all__]
