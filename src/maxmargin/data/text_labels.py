"""Codes for labels that stand in text, and what kind they turn out to be.

As long as every label reads as a number all of them are numbers, and "1", "+1" and "1.0" are one class. With the first
that does not, all of them are words.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.text_labels import LabelSpace, code_labels, label_numbers
from maxmargin.data.labels import MOST_LABELS, LabelTable
from maxmargin.errors import DataError

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class LabelError(DataError):
    """The label of one row of the text cannot be used."""

    def __init__(self, row: int, message: str):
        super().__init__(message)
        self.row = row


class TextLabels:
    """Codes for labels given by their places in a text."""

    def __init__(self, most: int = MOST_LABELS) -> None:
        slots = 1 << (4 * most).bit_length()
        self._space = LabelSpace(
            np.full(slots, -1, dtype=np.int32),
            np.zeros(most + 1, dtype=np.int64),
            np.empty(1 << 12, dtype=np.uint8),
        )
        self._known = 0
        self._words = 0
        self._complete = True

    def encode(self, text: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64]) -> list[NDArray[Any]]:
        """Codes of the labels at the given places, and values of those that are past the most that get codes."""
        codes = np.empty(len(begins), dtype=np.int32)
        row = 0
        while self._complete and row < len(begins):
            before = self._known
            row, self._known = code_labels(text, begins, ends, row, len(begins), before, self._space, codes)
            for code in range(before, self._known):
                problem = self._problem_of(code)
                if problem is not None:
                    raise LabelError(int(np.argmax(codes[:row] == code)), problem)
            if row < len(begins):
                self._make_room(int(ends[row] - begins[row]), row)
        parts: list[NDArray[Any]] = [codes[:row], self._numbers(text, begins, ends, row)]
        return [part for part in parts if len(part)]

    def _label(self, code: int) -> bytes:
        return bytes(self._space.pool[self._space.ends[code] : self._space.ends[code + 1]])

    def _problem_of(self, code: int) -> str | None:
        """What is wrong with a new label that is neither a finite number nor a word."""
        label = self._label(code)
        if NUMBER.fullmatch(label) is None:
            self._words += 1
            try:
                label.decode()
            except UnicodeDecodeError:
                return f"the label {label!r} is not UTF-8. Save the file as UTF-8."
        elif not math.isfinite(float(label)):
            return f"the label {label.decode()} is beyond double precision. Leave the row out."
        return None

    def _make_room(self, length: int, row: int) -> None:
        """A larger pool; or no more codes, where there are too many labels."""
        if self._known + 1 < len(self._space.ends):
            pool = np.empty(2 * len(self._space.pool) + length, dtype=np.uint8)
            pool[: len(self._space.pool)] = self._space.pool
            self._space = self._space._replace(pool=pool)
        elif self._words == 0:
            self._complete = False
        else:
            raise LabelError(row, f"this is label number {self._known + 1:,}; of words at most {self._known:,} fit.")

    def _numbers(
        self, text: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64], first: int
    ) -> NDArray[np.float64]:
        """Values of the labels from row `first` on."""
        values = np.empty(len(begins))
        row = label_numbers(text, begins, ends, first, len(begins), values)
        while row < len(begins):
            label = text[begins[row] : ends[row]].tobytes()
            if NUMBER.fullmatch(label) is None or not math.isfinite(float(label)):
                raise LabelError(
                    row,
                    f"the label {label.decode(errors='replace')!r} is not a finite number, and there are more than "
                    f"{self._known:,} different labels, which must then all be numbers.",
                )
            values[row] = float(label)
            row = label_numbers(text, begins, ends, row + 1, len(begins), values)
        return values[first:]

    def table(self) -> LabelTable:
        """What the codes given so far stand for."""
        labels = [self._label(code) for code in range(self._known)]
        if self._words:
            return LabelTable("text", [label.decode() for label in labels], self._complete)
        return LabelTable("number", [float(label) for label in labels], self._complete)
