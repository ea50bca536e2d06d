"""Codes for labels that stand in text, and what kind they turn out to be.

As long as every label reads as a number all of them are numbers, and "1", "+1" and "1.0" are one class. With the first
that does not, all of them are words. A label that is neither a finite number nor a word gets a code as well, but its
rows must be left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.text.labels import LabelSpace, code_labels, label_numbers
from maxmargin.data.formats.text_file import NUMBER
from maxmargin.data.labels import MOST_LABELS, LabelTable
from maxmargin.errors import DataError


class TextLabels:
    """Codes for labels given by their places in a text."""

    def __init__(self) -> None:
        slots = 1 << (4 * MOST_LABELS).bit_length()
        self._space = LabelSpace(
            np.full(slots, -1, dtype=np.int32),
            np.zeros(MOST_LABELS + 1, dtype=np.int64),
            np.empty(1 << 12, dtype=np.uint8),
        )
        self._problems: dict[int, str] = {}
        self._known = 0
        self._words = 0
        self._complete = True

    def encode(
        self,
        text: NDArray[np.uint8],
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
        where: Callable[[int], str],
    ) -> list[NDArray[Any]]:
        """Codes of the labels at the given places, and values of those that are past the most that get codes.

        `where` names the place of a row whose label has no code and no value.
        """
        codes = np.empty(len(begins), dtype=np.int32)
        row = 0
        while self._complete and row < len(begins):
            before = self._known
            with np.errstate(over="ignore"):  # hashes wrap around, which loops tell when they are interpreted
                row, self._known = code_labels(text, begins, ends, row, len(begins), before, self._space, codes)
            for code in range(before, self._known):
                self._look_at(code)
            if row < len(begins):
                self._make_room(int(ends[row] - begins[row]), row, where)
        parts: list[NDArray[Any]] = [codes[:row], self._numbers(text, begins, ends, row, where)]
        return [part for part in parts if len(part)]

    def refused(self, codes: NDArray[Any]) -> list[tuple[int, str]]:
        """Rows of a batch whose label cannot be used, and what is wrong with it."""
        if not self._problems or codes.dtype.kind == "f":
            return []
        rows = np.flatnonzero(np.isin(codes, list(self._problems)))
        return [(row, self._problems[int(codes[row])]) for row in rows.tolist()]

    def table(self) -> LabelTable:
        """What the codes given so far stand for."""
        labels = [self._label(code) for code in range(self._known)]
        for code in self._problems:  # no row has this code, so any label will do
            labels[code] = next((labels[other] for other in range(self._known) if other not in self._problems), b"0")
        if self._words:
            return LabelTable("text", [label.decode() for label in labels], self._complete)
        return LabelTable("number", [float(label) for label in labels], self._complete)

    def _label(self, code: int) -> bytes:
        return bytes(self._space.pool[self._space.ends[code] : self._space.ends[code + 1]])

    def _look_at(self, code: int) -> None:
        """Note what kind a new label is of, or what is wrong with it."""
        label = self._label(code)
        if NUMBER.fullmatch(label) is not None:
            if not math.isfinite(float(label)):
                self._problems[code] = f"the label {label.decode()} is beyond double precision. Leave the row out."
            return
        try:
            label.decode()
        except UnicodeDecodeError:
            self._problems[code] = f"the label {label!r} is not UTF-8. Save the file as UTF-8, or leave the row out."
        else:
            self._words += 1

    def _make_room(self, length: int, row: int, where: Callable[[int], str]) -> None:
        """A larger pool; or no more codes, where there are too many labels."""
        if self._known < MOST_LABELS:
            pool = np.empty(2 * len(self._space.pool) + length, dtype=np.uint8)
            pool[: len(self._space.pool)] = self._space.pool
            self._space = self._space._replace(pool=pool)
        elif self._words == 0:
            self._complete = False
        else:
            most = f"of words at most {self._known:,} fit"
            raise DataError(f"{where(row)}: this is label number {self._known + 1:,}; {most}.")

    def _numbers(
        self,
        text: NDArray[np.uint8],
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
        first: int,
        where: Callable[[int], str],
    ) -> NDArray[np.float64]:
        """Values of the labels from row `first` on."""
        values = np.empty(len(begins))
        row = label_numbers(text, begins, ends, first, len(begins), values)
        while row < len(begins):
            label = text[begins[row] : ends[row]].tobytes()
            if NUMBER.fullmatch(label) is None or not math.isfinite(float(label)):
                raise DataError(
                    f"{where(row)}: the label {label.decode(errors='replace')!r} is not a finite number, and there are "
                    f"more than {self._known:,} different labels, which must then all be numbers."
                )
            values[row] = float(label)
            row = label_numbers(text, begins, ends, row + 1, len(begins), values)
        return values[first:]
