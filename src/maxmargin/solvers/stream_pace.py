"""Whether a training gets anywhere: how fast what is left falls from one round to the next."""

from __future__ import annotations

import math

_READ, _KEPT = 4, 40  # rounds over which the pace is measured, where rows are read or all in memory
_FIRST = 2  # rounds that do not count: the memory is filled, and losses are measured while w moves far
_MOST = 15.0  # times as many rounds still to come are too many
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
