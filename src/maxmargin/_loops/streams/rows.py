"""Rows on their way from a block of a source into the row cache, and from place to place in it.

The cache is one stretch of preallocated memory with places for whole rows. A segment is some places one after the
other, and the memory for the entries of their rows. Beside each row stand a few numbers: its number in the data, its
target, its cost C_i, |x_i|^2, its slack when it was last visited, and whether it rests, that is, is not trained on for
the moment.

Which rows of the data are in the cache is told by one byte a row, so that threads with rows of their own never write to
the same place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.rows import copy_row, row_fits, row_square


class CachedRows(NamedTuple):
    """The arrays of the cache, one entry a place."""

    rows: Any
    number: Any
    """Which row of the data it is."""
    target: Any
    """Number to be predicted, or number of the class."""
    cost: Any
    square: Any
    slack: Any
    """How far the row was held at its bound; zero for one that is free, wants to move or was not visited yet."""
    rests: Any
    """1 for a row that has nothing to tell in this pass over the data."""


class Room(NamedTuple):
    """Where rows can be appended: the next place, the first one beyond, and the first entry beyond."""

    at: int
    last: int
    end: int


@fast_loop
def fill_places(
    rows: Any, target: Any, cost: Any, start: int, first: int, wanted: Any, cached: CachedRows, room: Room, present: Any
) -> Any:
    """Append the rows wanted, from `first` on, of a block that begins at row `start` of the data.

    Returns the first row of the block that had no room, and the next place.
    """
    i, at = first, room.at
    while i < len(cost):
        number = start + i
        if wanted[i] == 0:
            i += 1
            continue
        if at >= room.last or not row_fits(rows, i, cached.rows, at, room.end):
            break
        copy_row(rows, i, cached.rows, at)
        cached.number[at] = number
        cached.target[at] = target[i]
        cached.cost[at] = cost[i]
        cached.square[at] = row_square(rows, i)
        cached.slack[at] = 0.0
        cached.rests[at] = 0
        present[number] = 1
        at += 1
        i += 1
    return i, at


@fast_loop
def move_rows(cached: CachedRows, places: Any, room: Room) -> Any:
    """Append the rows at the places, as many as there is room for; returns how many, and the next place."""
    at = room.at
    for k in range(len(places)):
        i = places[k]
        if at >= room.last or not row_fits(cached.rows, i, cached.rows, at, room.end):
            return k, at
        copy_row(cached.rows, i, cached.rows, at)
        cached.number[at] = cached.number[i]
        cached.target[at] = cached.target[i]
        cached.cost[at] = cached.cost[i]
        cached.square[at] = cached.square[i]
        cached.slack[at] = cached.slack[i]
        cached.rests[at] = cached.rests[i]
        at += 1
    return len(places), at
