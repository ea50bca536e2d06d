"""Whether a training gets anywhere: how fast what is left falls from one round to the next, or nothing moves."""

from __future__ import annotations

import math

_READ, _KEPT = 4, 40  # rounds over which the pace is measured, where rows are read or all in memory
_FIRST = 2  # rounds that do not count: the memory is filled, and losses are measured while w moves far
_MOST = 15.0  # times as many rounds still to come are too many
_STILL = 8  # rounds in which nothing moves
_NEARER = 0.9  # of the violation at the last progress: one below it is progress again
_ROUNDING = 1e-14  # relative growth of the dual that is none
_NOTHING = 1e-3  # of what is needed: less is all the same


class Pace:
    """Looks at what is left once a round."""

    def __init__(self) -> None:
        self._left: list[float] = []

    def is_hopeless(self, times: float, *, is_read: bool) -> bool:
        """Whether, as it went in the last rounds, what is needed is too far away.

        `times` as much as that is left now; `is_read` says that a round reads the source.
        """
        rounds = _READ if is_read else _KEPT
        left = math.log(max(times, _NOTHING))
        self._left.append(left)
        if left <= 0.0 or len(self._left) <= _FIRST + rounds:
            return False
        return left > _MOST * (self._left[-1 - rounds] - left)


class Rest:
    """Counts the rounds in which neither the dual rose nor the violation fell."""

    def __init__(self) -> None:
        self._highest, self._nearest, self._rounds = -math.inf, math.inf, 0

    def has_come(self, dual: float, violation: float) -> bool:
        """Whether there were several such rounds in a row, this one included."""
        is_higher = dual > self._highest + _ROUNDING * abs(dual)
        is_nearer = violation < _NEARER * self._nearest
        self._highest = max(self._highest, dual)
        self._nearest = violation if is_nearer else self._nearest
        self._rounds = 0 if is_higher or is_nearer else self._rounds + 1
        return self._rounds >= _STILL

    def forget(self) -> None:
        """Something else is tried."""
        self._nearest, self._rounds = math.inf, 0
