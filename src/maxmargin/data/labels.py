"""Labels of any kind as small numbers, found while the data go by.

Every different label gets a code in the order of its first use, and the codes are what is stored. Only at the end is
it known what kind the labels are and how they sort; a `LabelTable` then turns codes into classes.

A target of regression has nearly as many values as rows. Past `MOST_LABELS` different ones no more codes are given and
the numbers themselves are stored from there on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Labels
from maxmargin.errors import DataError, DataTypeError

MOST_LABELS = 65_536


@dataclass(frozen=True)
class LabelTable:
    """The label of every code.

    `kind` is "number" (double precision), "integer", "boolean", "text", or "none" where the rows have no labels and
    all of them the code 0. `complete` says that every row has a code; otherwise some have only a number.
    """

    kind: str
    values: list[Any]
    complete: bool = True

    @cached_property
    def labels(self) -> Labels:
        """Label of each code, in the user's kind."""
        types = {"number": np.float64, "integer": np.int64, "boolean": np.bool_, "text": np.str_, "none": np.float64}
        return np.array(self.values, dtype=types[self.kind])

    @cached_property
    def classes(self) -> Labels:
        """The different labels, sorted."""
        return np.unique(self.labels)

    @cached_property
    def class_of_code(self) -> NDArray[Any]:
        """Number of the class of each code, in the smallest type that holds all of them."""
        return np.searchsorted(self.classes, self.labels).astype(smallest_integer(len(self.classes)))


NO_LABELS = LabelTable("none", [None])
"""Of rows without labels: whoever asks for one gets NaN."""


def no_codes(n_rows: int) -> NDArray[np.int8]:
    """Codes of rows without labels."""
    return np.zeros(n_rows, dtype=np.int8)


def smallest_integer(count: int) -> Any:
    """Signed type for the numbers 0 to count - 1: one byte up to 127 of them."""
    return np.int8 if count <= 127 else np.int16 if count <= 32_767 else np.int32


class ArrayLabels:
    """Codes for labels that come as arrays, batch by batch."""

    def __init__(self) -> None:
        self._codes: dict[Any, int] = {}
        self._kind: str | None = None
        self._complete = True

    def encode(self, y: Labels, where: str) -> NDArray[Any]:
        """Codes of a batch, or its values in double precision past the most labels that get codes."""
        kind, values = _kind_of(y, where)
        if self._kind not in (None, kind):
            if {self._kind, kind} != {"number", "integer"}:
                raise DataTypeError(f"{where}: the labels are of kind {kind}, those before of kind {self._kind}.")
            kind, values = "number", values.astype(np.float64)
        self._kind = kind
        if self._complete:
            different, places = np.unique(values, return_inverse=True)
            room = MOST_LABELS if kind in ("number", "integer") else np.iinfo(np.int32).max
            if len(self._codes) + len(different) <= room:
                codes = [self._codes.setdefault(label, len(self._codes)) for label in different.tolist()]
                return np.array(codes, dtype=np.int32)[places]
            self._complete = False
        return values.astype(np.float64)

    def table(self) -> LabelTable:
        """What the codes given so far stand for."""
        kind = self._kind if self._kind is not None and self._complete else "number"
        return LabelTable(kind, list(self._codes), self._complete)


def _kind_of(y: Labels, where: str) -> tuple[str, NDArray[Any]]:
    """Kind of a batch of labels, and the batch in the type of that kind."""
    array = np.asarray(y)
    if array.ndim != 1:
        raise DataError(f"{where}: labels must be one a row, got an array of shape {array.shape}.")
    if array.dtype.kind == "b":
        return "boolean", array
    if array.dtype.kind in "iu":
        return "integer", array.astype(np.int64)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            row = int(np.argmin(np.isfinite(array)))
            raise DataError(f"{where}: the label of row {row} is {array[row]}, not a finite number. Leave the row out.")
        return "number", array.astype(np.float64)
    if array.dtype.kind in "OUT" and all(isinstance(label, str) for label in array.tolist()):
        return "text", array.astype(np.str_)
    raise DataTypeError(f"{where}: labels must be numbers, booleans or strings, got an array of type {array.dtype}.")
