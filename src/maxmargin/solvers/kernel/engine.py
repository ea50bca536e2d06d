"""The kernel engine: what the driver of pair steps (`solvers.kernel.driver`) may ask of whoever holds the numbers.

Over variables k = 1, ..., m, of which k belongs to the row r(k) (`solvers.kernel.dual`):

    minimise over beta   1/2 beta' K beta + 1/2 sum_k ridge_k beta_k^2 - target' beta + sum_k tube_k |beta_k|
    subject to           lower_k <= beta_k <= upper_k,  the sum of beta over each group as it is at the beginning

    K_kl = k(x_r(k), x_r(l)) + constant;  zero where k or l is the row of zeros

An engine owns beta, the bounds, the kernel values in whatever form and place, and the slopes

    F      = K beta + ridge beta - target
    rise_k = F_k + tube_k, or F_k - tube_k where beta_k < 0; infinity at the upper bound
    fall_k = F_k - tube_k, or F_k + tube_k where beta_k > 0; minus infinity at the lower bound

beta is optimal where in every group g the smallest rise, low_g, is not below the largest fall, high_g. The violation is
the largest high_g - low_g; the middle (low_g + high_g) / 2 is minus the intercept of the group.

The driver decides how many variables move, how far they are solved, and when it is over. It sees numbers and sets of
indices. Rows, kernel values, slopes and coefficients stay where they are: in this process, on a card, or with the rows
on other machines. Every operation is one call for many variables.

A part is some of the variables, with a number from 0 to size - 1 for each; the engine is the part of all of them:

    engine         all variables have their slopes; what kernel values come to is added up when it is needed
    active set     some thousand, for a while: kernel values among them will be asked for again and again
    working set    few enough that their square of K is at hand: a step costs no more than reading two rows of it

What moves in a part moves around it when it is closed, and all slopes there are updated, those of the part included:

    F_k <- F_k + sum_l K_kl (change of beta_l) + ridge_k (change of beta_k)

Until then the part around it stays as it is; one part at a time is open inside another.

A card would answer `active(None)` with itself, solve a working set inside one launch, and multiply its kernel rows
against all to close it. Rows on several machines would gather rows, slopes and bounds of a part in one place, and send
out which of its variables moved, and how far. `extremes` and `terms` are merged from those of shards.

Precision. beta and F are double. Kernel values may be single, and then `is_exact` becomes False with the first step.
`sample_error` and `refine` are in double from the rows themselves: what the driver calls converged rests on them.
Sums may come in any order: the certificate forms everything anew, and trusts nothing of this.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.solvers.kernel.dual import Extremes, Terms


class WorkingSets(NamedTuple):
    """How the driver should take this engine: working sets, inside active variables that are chosen now and then."""

    active: int
    """Variables that are active, at least; as many as there are for an engine that has no use for the distinction."""
    size: int
    """Variables in a working set."""
    sharpness: float = 0.5  # of the tolerance: how far steps go at first


class Unsettled(NamedTuple):
    """Or all variables at once, but for those that seem settled at a bound."""

    above: int
    """Sizes up to which nothing is left aside."""
    most: float
    """Share of a part that may stay in a smaller one that is worth it."""
    margin: float
    """Violations by which a slope must be away from those that compete."""
    coarse: float
    """Share of the violation down to which steps go while no smaller part is worth it."""
    period: int
    """Steps between two choices of those that stay."""
    steps: int
    """Steps after which all slopes are asked for, at the latest."""
    first: float = 0.0
    """Tolerances down to which the first steps go, before all slopes are asked for; 0 for those to the end."""
    sharpness: float = 1.0


class Part(ABC):
    """Some of the variables. A row of zeros, where there is one, is in every part and every set of indices."""

    size: int

    @abstractmethod
    def extremes(self) -> Extremes:
        """Smallest rise and largest fall of each group; what other operations take as `at`."""

    @abstractmethod
    def unsettled(self, at: Extremes, margin: float) -> RowIndex:
        """All but those with rise_k > high_g + margin and fall_k < low_g - margin, increasing."""

    def close(self) -> None:
        """Hand the coefficients on, and bring slopes up to date; the engine itself has nobody to hand them to."""
        return


class KernelWorkingSet(Part):
    """Variables that pair steps can move."""

    @abstractmethod
    def pair_steps(self, goal: float, limit: int, stop: StopFlag) -> tuple[int, bool]:
        """Pair steps until the violation inside the set is at most `goal`: their number, and whether it got there.

        No more than `limit`; fewer where kernel values had to be computed, or where `stop` is raised. A step raises the
        smallest rise and lowers the partner that promises most; any other choice that never raises the objective, and
        ends, will do (`_loops.kernel.pair_steps`).
        """

    def narrowed(self, which: RowIndex) -> KernelWorkingSet:
        """The set in place of which only some of its variables go on, for an engine that gains by it."""
        return self


class Pool(Part):
    """Variables among which others are chosen."""

    @abstractmethod
    def between(self) -> RowIndex:
        """Variables that are at no bound and not at zero, increasing."""

    @abstractmethod
    def most_violating(self, at: Extremes, count: int, carried: RowIndex) -> RowIndex:
        """`count` < size variables: the carried ones first, in their order, then the worst of the others.

        Half of these by middle - rise_k, and of those left over by fall_k - middle, more of either where the other has
        too few. A row of zeros comes before the carried ones that it is not among.
        """


class ActiveSet(Pool):
    """Variables among which working sets are chosen."""

    @abstractmethod
    def keenest(self, at: Extremes, among: RowIndex, count: int) -> RowIndex:
        """Which of `among`, as places in it, increasing: a row of zeros, those between bounds, the most violating."""

    @abstractmethod
    def working_set(self, which: RowIndex | None) -> KernelWorkingSet:
        """Some of the variables, None for all.

        With the pace `WorkingSets` in any order, and often half of them were in the last set, at the same places.
        """


class KernelEngine(Pool):
    """All variables."""

    pace: WorkingSets | Unsettled
    is_exact: bool
    """Whether the slopes know of no single precision."""

    @abstractmethod
    def active(self, which: RowIndex | None) -> ActiveSet:
        """Some of the variables, None for all: the engine itself, where it has no use for the distinction."""

    @abstractmethod
    def terms(self, b: Vector) -> Terms:
        """Sums over all variables, at one intercept a group; it is zero where there is a row of zeros."""

    @abstractmethod
    def refine(self) -> None:
        """Form all slopes in double precision."""

    def refresh(self) -> None:
        """Undo what the rounding of many steps did to the slopes, where that is cheap."""
        return

    @abstractmethod
    def sample_error(self) -> float:
        """The largest error of a sample of slopes, found in double precision.

        What all slopes have in common does not count where the intercept is free.
        """

    @abstractmethod
    def begin(self, beta: Vector) -> None:
        """Go on from these coefficients."""

    @abstractmethod
    def begin_near(self, other: KernelEngine, scale: float) -> None:
        """Go on from the coefficients of an engine of the same kind with other bounds, times `scale`.

        Slopes are scaled along, without the kernel.
        """

    @property
    @abstractmethod
    def largest_value(self) -> float:
        """The largest |K_kk + ridge_k|."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """How far phi(x) of any row is from that of the first, or from the origin where no intercept is free."""

    @abstractmethod
    def coefficients(self) -> Vector:
        """The sum of beta over the variables of each row: asked for at the very end."""

    @abstractmethod
    def scores(self) -> Vector:
        """(K beta) of each row, likewise."""

    @abstractmethod
    def tells_intercept(self) -> bool:
        """Whether a coefficient lies between its bounds, and not by rounding alone."""


class EngineAtHand(KernelEngine):
    """An engine that has all kernel values at hand, so that more steps than asked for cost next to nothing."""

    pace: Unsettled
    is_double: bool
    """Whether the values are, so that there are digits to gain."""

    @abstractmethod
    def newton_step(self, most: int) -> bool:
        """Bring the variables between bounds, if at most so many, to one slope a group, or as far as bounds allow."""

    @abstractmethod
    def remember(self) -> None:
        """Keep this point."""

    @abstractmethod
    def recall(self) -> None:
        """Go back to the point that was kept."""

    @abstractmethod
    def without(self, k: int) -> EngineAtHand:
        """Another engine on the same values, near this point, in which beta_k is zero and stays so."""
