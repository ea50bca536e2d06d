"""The kernel engine: what the driver of pair steps (`solvers.kernel.driver`) asks of whoever holds the numbers.

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

The driver says how far to go, and when it is over. It sees numbers: rows, kernel values, slopes and coefficients stay
where they are, in this process, on a card, or with the rows on other machines. Every operation is one call for many
variables. They come in sets:

    engine         all variables; of all there are slopes, and kernel values are summed up when they are needed
    active set     some thousand, for a while: kernel values among them will be asked for again and again
    working set    few enough that their square of K is at hand, so that a step costs no more than reading two rows

What moves in a set moves around it when the set is closed, and all slopes there follow, those of the set included:

    F_k <- F_k + sum_l K_kl (change of beta_l) + ridge_k (change of beta_k)

Until then what is around it stays as it is; one set at a time is open inside another. An engine that needs no active
sets answers `active` with itself.

Whom an engine chooses is its own affair, as long as the most violating pair of a set is in every set chosen from it:
then a working set that is solved brings the dual up. Good choices are the variables between their bounds, and those
that violate most, half of them to be raised and half to be lowered; and to keep half of the last working set in the
next one. Where an intercept is not free, the row of zeros is everybody's partner, and belongs to every set.

A card would solve a working set inside one launch, and multiply its kernel rows with those of all to close it. Rows on
several machines would gather rows, slopes and bounds of a set in one place, each shard proposing its worst variables,
and send out which of them moved, and how far. `extremes` and `terms` are merged from those of shards.

Precision. beta and F are double. Kernel values may be single, and then `is_exact` becomes False with the first step.
`sample_error` and `refine` are in double from the rows themselves: what the driver calls converged rests on them.
Sums may come in any order: the certificate forms everything anew, and trusts nothing of this.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

from maxmargin._types import Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.solvers.kernel.dual import Extremes, Terms


class EnginePace(NamedTuple):
    """How far a driver should go with this engine before it looks again."""

    steps: int
    """Pair steps of one working set: milliseconds, so that Ctrl-C and budgets are heeded."""
    rounds: int = 1
    """Working sets from the same active set, each solved to a tenth of the violation there, as that is itself."""
    sharpness: float = 1.0
    """Share of the tolerance down to which steps go at first; less where the gap asks for it."""
    first: float = 0.0
    """Tolerances at which to stop once before; 0 for going to the end at once."""


class VariableSet(ABC):
    """Some of the variables, or all."""

    size: int

    @abstractmethod
    def extremes(self) -> Extremes:
        """Smallest rise and largest fall of each group; asked for before others are chosen from the set."""

    def close(self) -> None:
        """Hand on what moved; all variables have nobody to hand it to."""
        return


class KernelWorkingSet(VariableSet):
    """Variables that pair steps move."""

    @abstractmethod
    def pair_steps(self, goal: float, limit: int, stop: StopFlag) -> tuple[int, bool]:
        """Pair steps until the violation inside the set is at most `goal`: their number, and whether that is all.

        No more than `limit`; fewer where kernel values had to be computed on the way, or where `stop` is raised. A step
        raises the smallest rise and lowers the partner that promises most; any other choice that never raises the
        objective, and ends, will do (`_loops.kernel.pair_steps`).
        """


class ActiveSet(VariableSet):
    """Variables from which working sets are chosen."""

    @abstractmethod
    def working_set(self, at: Extremes) -> KernelWorkingSet:
        """The next working set; all variables, where these are not too many."""


class KernelEngine(VariableSet):
    """All variables."""

    pace: EnginePace
    n_groups: int
    is_free: bool
    """Whether each group has an intercept of its own; otherwise there is a row of zeros."""
    is_exact: bool
    """Whether the slopes know of no single precision."""

    @abstractmethod
    def active(self, at: Extremes) -> ActiveSet:
        """The next active set."""

    @abstractmethod
    def terms(self, b: Vector) -> Terms:
        """Sums over all variables, at one intercept a group; zero where that is not free."""

    @abstractmethod
    def refine(self) -> None:
        """Form all slopes in double precision."""

    def refresh(self) -> None:
        """Undo what the rounding of many steps did to the slopes, where that is cheap."""
        return

    @abstractmethod
    def sample_error(self) -> float:
        """The largest error of a sample of slopes, but for what they have in common where the intercept is free."""

    @abstractmethod
    def begin(self, beta: Vector) -> None:
        """Go on from these coefficients."""

    @abstractmethod
    def begin_near(self, other: Self, scale: float) -> None:
        """Go on from `scale` times the coefficients of an engine with other bounds, without asking for the kernel."""

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

    is_double: bool
    """Whether the values are, so that there are digits to gain."""

    @abstractmethod
    def newton_step(self) -> bool:
        """Bring the variables between bounds, if few, to one slope a group, or as far as bounds allow."""

    @abstractmethod
    def copy(self) -> Self:
        """The same values with coefficients and slopes of their own."""

    @abstractmethod
    def without(self, k: int, goal: float, limit: int) -> Self | None:
        """A copy in which beta_k is zero and stays so, solved from near this point down to a violation of `goal`.

        None where `limit` pair steps are too few.
        """
