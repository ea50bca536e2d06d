"""LIBSVM text, plain or compressed, as batches of CSR rows.

Whether columns count from 0 or from 1 is known only at the end: from 0 when the index 0 was met anywhere. Until then
they are taken to count from 1, so that the index 0 becomes column -1, and the end says what is to be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._loops.text.rows import RowSpace, TextProgress, read_rows
from maxmargin.backends.threads import thread_count
from maxmargin.data.formats.batches import RowBatch
from maxmargin.data.formats.libsvm_lines import LARGEST, problem_of_line
from maxmargin.data.formats.text_file import TextFile
from maxmargin.data.formats.text_input import PIECE_BYTES, TextInput
from maxmargin.data.labels import no_codes


class LibsvmInput(TextInput):
    """Rows of LIBSVM files; `zero_based` is None where that is to be found out."""

    _least_bytes = 3

    def __init__(
        self,
        paths: Sequence[Path],
        dtype: np.dtype[Any],
        n_features: int | None,
        zero_based: bool | None,
        skip_bad_rows: int,
        n_jobs: int | None,
        piece_bytes: int = PIECE_BYTES,
    ):
        settings = f"libsvm {dtype} {n_features} {zero_based} {skip_bad_rows}"
        super().__init__(paths, settings, True, skip_bad_rows, dtype, thread_count(n_jobs), piece_bytes)
        self._zero_based = zero_based
        self._n_features = n_features

    def _begin(self, file: TextFile, lines: int) -> tuple[int, int]:
        return 0, lines

    def _read(self, file: TextFile, end: int, done: TextProgress, space: RowSpace) -> tuple[TextProgress, int]:
        base, least = 0 if self._zero_based else 1, -1 if self._zero_based is None else 0
        n_columns = LARGEST if self._n_features is None else self._n_features
        return read_rows(file.text, end, base, least, n_columns, done, space)

    def _problem(self, line: bytes) -> str:
        return problem_of_line(line, self._zero_based, self._n_features, self._dtype)

    def _batch(self, space: RowSpace, done: TextProgress) -> RowBatch:
        columns = space.columns[: done.entries]
        if self._zero_based is None and done.entries:
            self.column_shift = max(self.column_shift, -int(columns.min()))
        return RowBatch(space.values[: done.entries], columns, space.starts[: done.rows + 1], no_codes(done.rows))
