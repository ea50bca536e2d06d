"""Inner products of chosen rows, kept from one choice to the next."""

from __future__ import annotations

import numpy as np

from maxmargin._loops.passes import row_products_loop
from maxmargin._types import Matrix, RowIndex
from maxmargin.data.passes import Passes


class RowProducts:
    """<x_i, x_j> of the rows asked for so far, at most `capacity` of them; older ones are forgotten together."""

    def __init__(self, passes: Passes, capacity: int):
        self._passes, self._capacity = passes, capacity
        self._forget()

    def _forget(self) -> None:
        self._known = np.empty(0, dtype=np.int64)
        self._table = np.empty((0, 0))
        self._place = np.full(self._passes.n_rows, -1, dtype=np.int64)

    def among(self, rows: RowIndex) -> Matrix:
        """The matrix of these rows, a copy."""
        new = rows[self._place[rows] < 0]
        if len(self._known) + len(new) > self._capacity:
            self._forget()
            new = rows
        if len(new):
            self._learn(new)
        places = self._place[rows]
        return np.asarray(self._table[np.ix_(places, places)])

    def _learn(self, new: RowIndex) -> None:
        """Products of the new rows with each other and with the known ones."""
        old, total = len(self._known), len(self._known) + len(new)
        if total > len(self._table):
            grown = np.empty((min(self._capacity, max(2 * total, 64)),) * 2)
            grown[:old, :old] = self._table[:old, :old]
            self._table = grown
        self._known = np.concatenate([self._known, new])
        self._place[new] = np.arange(old, total)
        row_products_loop(self._passes.rows, self._known, old, np.zeros(self._passes.n_features), self._table)
