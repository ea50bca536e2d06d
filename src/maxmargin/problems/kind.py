"""What kind of problem it is, with or without its data: all that a solver needs to know before it takes one.

A `Problem` has rows, a `Specification` has none yet; both have a loss, a cost, an intercept, a penalty on w, and a
kernel where w is not a vector one can hold.
"""

from __future__ import annotations

from maxmargin._loops.loss_curve import Curve
from maxmargin.kernels import Kernel
from maxmargin.losses import HardMargin, Loss
from maxmargin.penalties import L2, Penalty
from maxmargin.problems.intercept import Intercept


class ProblemKind:
    """Loss, cost, intercept, penalty and kernel; a linear problem without nu, unless a subclass says otherwise."""

    loss: Loss
    C: float
    intercept: Intercept

    @property
    def penalty(self) -> Penalty:
        """The penalty on w."""
        return L2()

    @property
    def kernel(self) -> Kernel | None:
        """The kernel, None for a linear problem."""
        return None

    @property
    def nu(self) -> float | None:
        """Share of rows that may be margin errors, where that is given in place of C (or of epsilon)."""
        return None

    @property
    def curve(self) -> Curve:
        """The loss as compiled loops know it; for problems with one that they do know."""
        curve = self.loss.curve
        assert curve is not None
        return curve

    @property
    def objective(self) -> str:
        """What is minimised, in words."""
        is_hard = isinstance(self.loss, HardMargin)
        loss = "subject to y_i f_i >= 1" if is_hard else f"+ {self.C:.6g} sum_i {self.loss.written}"
        where = "linear" if self.kernel is None else f"kernel {self.kernel}"
        return f"{self.penalty.words} {loss}, {where}, {self.intercept.words}"
