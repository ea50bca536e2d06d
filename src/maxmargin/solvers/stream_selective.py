"""Selective block minimisation: half of the memory is for the rows that had most to tell so far.

    for every load of rows that fills one half    sweeps over the load and the rows kept
                                                  keep, of both, the rows with the least slack, as many as fill the half

The slack of a row is how far its multiplier is held at its bound: zero for free ones, and for those that want to move.
Reading and training take turns.

Chang and Roth, KDD 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._loops.stream_steps import measure_slack
from maxmargin.backends.threads import StopFlag
from maxmargin.solvers.stream_cache import Segment, State
from maxmargin.solvers.stream_solver import StreamSolver, Training

_SWEEPS = 10  # over a load and the rows kept, at most


@dataclass(frozen=True)
class SelectiveBlockMinimisation(StreamSolver):
    """Loads of rows, each together with the informative rows of those before."""

    name: ClassVar[str] = "selective-block"

    def round(self, training: Training, stop: StopFlag) -> None:
        """Every row in one load, or kept from one before."""
        cache = training.cache
        for segment in cache.of_state(State.VISITED):
            segment.train_on(segment.size)
        filling: Segment | None = None
        for block in training.blocks():
            first = 0
            while first < len(block.cost):
                if training.is_over(stop):
                    return
                free = cache.of_state(State.FREE)
                if filling is None and len(free) <= 1:  # one stays free, to pack the others
                    training.sweeps(_SWEEPS, stop)
                    _keep_half(training)
                    free = cache.of_state(State.FREE)
                filling = free[0] if filling is None else filling
                filling.state = State.FRESH
                first = cache.fill(filling, block, first)
                if first < len(block.cost):
                    filling = None
        training.sweeps(_SWEEPS, stop)


def _keep_half(training: Training) -> None:
    """Of all rows in the cache keep those with the least slack, in half of the segments."""
    cache, duals = training.cache, training.duals
    segments = cache.of_state(State.VISITED)
    slack = [np.empty(segment.active) for segment in segments]
    for segment, found in zip(segments, slack, strict=True):
        measure_slack(segment.cached, segment.active, duals, found)
    half = 0.5 * len(cache.segments) * cache.segments[0].capacity
    share = min(1.0, half / max(1, sum(segment.load for segment in segments)))
    everything = np.concatenate(slack)
    count = int(share * len(everything))
    # Ties are broken by the order in the cache, which is random: many rows have no slack at all.
    kept = np.zeros(len(everything), dtype=bool)
    kept[np.argsort(everything, kind="stable")[:count]] = True
    edges = np.cumsum([0, *(len(found) for found in slack)])
    for segment, begin, end in zip(segments, edges[:-1], edges[1:], strict=True):
        order, keep = segment.cached.order[: segment.active], kept[begin:end]
        order[:] = np.concatenate([order[keep], order[~keep]])
        segment.train_on(int(np.count_nonzero(keep)))
    cache.pack()
    for segment in cache.of_state(State.VISITED):  # rows of uneven length may take more room than their share
        if len(cache.of_state(State.FREE)) >= 2:
            break
        cache.empty(segment)
        segment.state = State.FREE
