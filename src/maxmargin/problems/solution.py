"""What a solver hands back: the point it reached, how it ended, and how it got there.

Who wants to follow a fit listens to its history: solvers record and know of no listener.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from maxmargin._types import Vector


class Status(Enum):
    """How a fit ended."""

    CONVERGED = "The duality gap and the KKT violation are within the tolerance."
    BUDGET = "Stopped by max_iter or max_seconds; raise it, scale the features or lower C."
    INTERRUPTED = "Stopped by Ctrl-C; the model so far is kept and certified."
    STALLED = "No step improved the answer further; the tolerance is below what rounding allows here."


@dataclass
class History:
    """Seconds, passes, primal, dual and gap at each check of a fit."""

    seconds: list[float] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)
    primal: list[float] = field(default_factory=list)
    dual: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    estimated: list[bool] = field(default_factory=list)
    """Which checks added up losses of rows seen at different times, as the trainers of streams do between passes."""
    violation: float | None = field(default=None, repr=False, compare=False)
    """KKT violation at the last check, where the solver knows it."""
    _begun: float = field(default_factory=time.perf_counter, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def elapsed(self) -> float:
        """Seconds since the history was begun."""
        return time.perf_counter() - self._begun

    @property
    def relative_gap(self) -> float:
        """Gap of the last check by the size of its primal value; infinite before the first check."""
        return self.gap[-1] / max(abs(self.primal[-1]), 1e-300) if self.gap else np.inf

    def record(
        self, passes: float, primal: float, dual: float, *, estimated: bool = False, violation: float | None = None
    ) -> None:
        """Add one check, and tell the listener of this thread if there is one."""
        self.violation = violation
        self.seconds.append(self.elapsed)
        self.passes.append(float(passes))
        self.primal.append(float(primal))
        self.dual.append(float(dual))
        self.gap.append(float(primal) - float(dual))
        self.estimated.append(estimated)
        listener = _listener.get()
        if listener is not None:
            listener(self)

    @classmethod
    def from_arrays(cls, columns: dict[str, Vector]) -> History:
        """The history whose `as_arrays` gave `columns`."""
        history = cls()
        for name, column in columns.items():
            kind = bool if name == "estimated" else float
            getattr(history, name).extend(kind(value) for value in column)
        return history

    def as_arrays(self) -> dict[str, Vector]:
        """The columns, ready for a plot or a model file."""
        return {
            name: np.asarray(getattr(self, name), dtype=np.float64)
            for name in ("seconds", "passes", "primal", "dual", "gap", "estimated")
        }


Listener: TypeAlias = Callable[[History], None]

# A context variable, because solvers record in worker threads, and threads carry the context of their fit.
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Call `listener` with the history after each check of the fits inside the block, after any listener around it.

    With None nobody hears of what happens inside.
    """
    around = _listener.get()

    def both(history: History) -> None:
        if around is not None:
            around(history)
        if listener is not None:
            listener(history)

    token = _listener.set(None if listener is None else both)
    try:
        yield
    finally:
        _listener.reset(token)


@dataclass(frozen=True)
class Solution:
    """Multipliers, weights (None for a kernel machine) and intercept, and how the solver ended.

    `bias` is None when the solver left it open; the certificate then takes the best one for the given weights.
    """

    alpha: Vector
    """Multipliers; out of core the coefficients beta, because there is room for no other vector as long."""
    weights: Vector | None
    bias: float | Vector | None
    status: Status
    history: History
    solver: str
    passes: float
    seconds: float
    margin: float | None = None
    """The margin rho, or the width epsilon of the tube, that nu led to."""
    assessment: Any = None
    """What `certificates.assess` finds at this very point, where a solver has asked it to know whether to stop: out of
    core that is a pass over the data, and another one would find the same."""
