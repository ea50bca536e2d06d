"""How soon a fit reaches a relative duality gap: one fit, listened to while it works.

A solver looks at its own gap now and then, and tells whoever listens (`maxmargin.problems.solution.listening`). The
seconds to a level are those from the call of `fit` to the first look at which (P - D) / |P| was no larger: checks of
the input are in it, and so is the work of a solver that handed over to another one. The last look is the certificate,
computed anew when the fit is over. A solver that looks only when it is done is fitted once more at each level.
"""

from __future__ import annotations

import ctypes
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common.worker import forget_peak, memory_of_process
from maxmargin.errors import NotConvergedWarning
from maxmargin.problems import History
from maxmargin.problems.solution import listening

LEVELS = (1e-2, 1e-3, 1e-6)
REPEATED_BELOW = 1.0
"""Seconds of a fit up to which it is run again."""
REPEATS = 3
_FEW_LOOKS = 2


@dataclass(frozen=True)
class Climb:
    """What one solver did on one problem."""

    seconds: dict[float, float]
    """To each level that was reached."""
    gap: float
    """Smallest relative gap of any look; infinite where there was none."""
    total: float
    """Seconds of the whole fit to the smallest level, or to where it ended."""
    extra_mb: float | None
    """Peak of memory during the fit beyond what the process held before; None where the system does not tell."""
    chosen: str
    """The solver that the certificate names."""
    status: str
    """How the fit ended."""


def climb(make: Callable[[float], Any], X: Any, y: Any, levels: Sequence[float] = LEVELS) -> Climb:
    """Fit the model that `make` gives for the smallest level; of several fits the best time to each level counts."""
    main, looks = _fit(make(min(levels)), X, y, levels)
    runs = [main]
    if looks <= _FEW_LOOKS:
        runs += [_fit(make(level), X, y, levels)[0] for level in levels if level > min(levels)]
    if main.total < REPEATED_BELOW:
        runs += [_fit(make(min(levels)), X, y, levels)[0] for _ in range(REPEATS - 1)]
    times = {level: [run.seconds[level] for run in runs if level in run.seconds] for level in levels}
    return Climb(
        seconds={level: min(found) for level, found in times.items() if found},
        gap=min(run.gap for run in runs),
        total=main.total,
        extra_mb=main.extra_mb,
        chosen=main.chosen,
        status=main.status,
    )


def _fit(model: Any, X: Any, y: Any, levels: Sequence[float]) -> tuple[Climb, int]:
    """One fit, and how often it was looked at."""
    looks: list[tuple[float, float]] = []

    def look(history: History) -> None:
        looks.append((time.perf_counter() - begun, history.relative_gap))

    _give_back_memory()
    resets, before = forget_peak(), memory_of_process("VmRSS")
    with warnings.catch_warnings(), listening(look):
        warnings.simplefilter("ignore", NotConvergedWarning)  # a fit that ran out of time is a figure like another
        begun = time.perf_counter()
        model.fit(X, y)
        total = time.perf_counter() - begun
    peak = memory_of_process("VmHWM") if resets else None
    looks.append((total, model.certificate_.relative_gap))
    reached = {level: [at for at, gap in looks if gap <= level] for level in levels}
    found = Climb(
        seconds={level: times[0] for level, times in reached.items() if times},
        gap=min((gap for _, gap in looks if not math.isnan(gap)), default=math.inf),
        total=total,
        extra_mb=None if peak is None or before is None else max(0.0, peak - before),
        chosen=model.certificate_.solver,
        status=model.certificate_.status.name,
    )
    return found, len(looks)


def _give_back_memory() -> None:
    """Pages that earlier fits have freed go back to the system, where it can: this fit has to ask for its own."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
