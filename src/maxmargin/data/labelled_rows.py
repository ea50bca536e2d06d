"""Rows of text meet their labels, and those whose label cannot be used are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.batches import Batch
from maxmargin.data.input_files import BadRows
from maxmargin.data.text_labels import LabelError, TextLabels
from maxmargin.errors import DataError


def labelled_rows(
    batch: Batch,
    labels: TextLabels,
    text: NDArray[np.uint8],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    bad: BadRows,
    where: Callable[[int], str],
) -> Iterator[Batch]:
    """The rows of a batch with codes for the labels that stand in the text; `where` names the place of a row."""
    try:
        with np.errstate(over="ignore"):  # hashes wrap around, which loops tell when they are interpreted
            parts = labels.encode(text, begins, ends)
    except LabelError as problem:
        raise DataError(f"{where(problem.row)}: {problem}") from None
    refused = labels.refused(parts[0])
    for row, words in refused:
        bad.add(f"{where(row)}: {words}")
    first, *others = batch.labelled(parts)
    yield from first.without([row for row, _ in refused])
    yield from others
