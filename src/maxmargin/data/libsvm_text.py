"""LIBSVM text, plain or compressed, as batches of CSR rows.

A bufferful of lines is cut into one piece a thread, at line ends; the pieces are read at the same time, and handed out
in order. A line that cannot be read is an error that names file and line, or is left out where that was asked for.

Whether columns count from 0 or from 1 is known only at the end: from 0 when the index 0 was met anywhere. Until then
they are taken to count from 1, so that the index 0 becomes column -1, and the end says what is to be added.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.text.rows import Progress, RowSpace, read_rows
from maxmargin.backends.threads import StopFlag, run_together, thread_count
from maxmargin.data.batches import Batch, Found
from maxmargin.data.input_files import BadRows, InputFiles
from maxmargin.data.labelled_rows import labelled_rows
from maxmargin.data.libsvm_lines import problem_of_line
from maxmargin.data.text_file import TextFile
from maxmargin.data.text_labels import TextLabels

PIECE_BYTES = 4 << 20  # of text for each thread: its rows stay in the outer caches until they are written
_SPARE = 9  # eighths of a piece that there is room for: the next one may be a line longer
_LARGEST = int(np.iinfo(np.int32).max)


class _Rules(NamedTuple):
    """How the text is to be read."""

    zero_based: bool | None
    n_features: int | None
    dtype: np.dtype[Any]

    @property
    def base(self) -> int:
        """What column 0 is called."""
        return 0 if self.zero_based else 1

    @property
    def least(self) -> int:
        """Smallest column; -1 where it is not known yet what the columns count from."""
        return -1 if self.zero_based is None else 0

    @property
    def n_columns(self) -> int:
        """Columns there may be."""
        return _LARGEST if self.n_features is None else self.n_features


class _Piece(NamedTuple):
    """Rows of one piece of text."""

    space: RowSpace
    done: Progress
    bad: list[tuple[int, str]]
    """Line, counted from 0 in the piece, and what is wrong with it."""


class LibsvmInput(InputFiles):
    """Rows of LIBSVM files, one file after the other."""

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
        super().__init__(paths, f"libsvm {dtype} {n_features} {zero_based} {skip_bad_rows}")
        self._rules = _Rules(zero_based, n_features, dtype)
        self._skip_bad_rows = skip_bad_rows
        self._threads = thread_count(n_jobs)
        self._piece_bytes = piece_bytes
        self._spaces: list[RowSpace | None] = [None] * self._threads

    def batches(self) -> Iterator[Batch]:
        """All rows; each batch is overwritten by the next."""
        self.begin()
        self._bad, self._labels, self._smallest = BadRows(self._skip_bad_rows), TextLabels(), 0
        for number, path in enumerate(self.paths):
            file = TextFile(path, min(self._threads * self._piece_bytes, max(64, 2 * path.stat().st_size)))
            try:
                yield from self._of_file(file)
            finally:
                file.close()
            self.file_done(number)
        self._spaces = [None] * self._threads

    def found(self) -> Found:
        """Labels, where columns begin, and the rows left out."""
        return Found(self._labels.table(), -self._smallest, tuple(self._bad.messages))

    def _of_file(self, file: TextFile) -> Iterator[Batch]:
        lines = 0
        while file.advance():
            self.at(file.position)
            edges = _line_edges(file, self._threads)
            tasks = [self._task(file, k, begin, end) for k, (begin, end) in enumerate(edges)]
            pieces = [tasks[0]()] if len(tasks) == 1 else run_together([_ignoring_the_flag(task) for task in tasks])
            for (begin, _), piece in zip(edges, pieces, strict=True):
                for line, problem in piece.bad:
                    self._bad.add(f"{file.path}, line {lines + line + 1}: {problem}")
                if piece.done.rows:
                    yield from self._batches_of(file, piece, lines, begin)
                lines += piece.done.lines
            file.consumed = file.end

    def _task(self, file: TextFile, thread: int, begin: int, end: int) -> Callable[[], _Piece]:
        space = self._spaces[thread]
        if space is None or 2 * len(space.label_begin) < end - begin:
            space = self._spaces[thread] = _new_space(_SPARE * (end - begin) // 8, self._rules.dtype)
        kept = space
        return lambda: _read_piece(file, begin, end, self._rules, self._bad.room + 1, kept)

    def _batches_of(self, file: TextFile, piece: _Piece, lines: int, begin: int) -> Iterator[Batch]:
        space, done = piece.space, piece.done
        label_begin, label_end = space.label_begin[: done.rows], space.label_end[: done.rows]
        columns = space.columns[: done.entries]
        if self._rules.zero_based is None and done.entries:
            self._smallest = min(self._smallest, int(columns.min()))

        def where(row: int) -> str:
            return f"{file.path}, line {lines + file.lines_between(begin, int(label_begin[row])) + 1}"

        batch = Batch(space.values[: done.entries], columns, space.starts[: done.rows + 1], label_begin)
        return labelled_rows(batch, self._labels, file.text, label_begin, label_end, self._bad, where)


def _ignoring_the_flag(task: Callable[[], _Piece]) -> Callable[[StopFlag], _Piece]:
    return lambda stop: task()  # a piece takes milliseconds: Ctrl-C can wait for it


def _line_edges(file: TextFile, count: int) -> list[tuple[int, int]]:
    """Cut the lines at hand into at most `count` pieces of about the same size."""
    edges = [0, *(file.line_end(file.end * k // count) for k in range(1, count)), file.end]
    return [(first, last) for first, last in itertools.pairwise(edges) if last > first]


def _new_space(length: int, dtype: np.dtype[Any]) -> RowSpace:
    """Room for every row, entry and slow value that so many bytes can hold."""
    entries, rows = length // 3 + 1, length // 2 + 1
    starts = np.empty(rows + 1, dtype=np.int64)
    starts[0] = 0
    return RowSpace(
        np.empty(entries, dtype=dtype),
        np.empty(entries, dtype=np.int32),
        starts,
        np.empty(rows, dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty((length // 4 + 1, 4), dtype=np.int64),
    )


def _read_piece(file: TextFile, begin: int, end: int, rules: _Rules, most_bad: int, space: RowSpace) -> _Piece:
    """Read all lines of a piece but the malformed ones; give up when there are `most_bad` of those."""
    bad: list[tuple[int, str]] = []
    done = Progress(begin, 0, 0, 0, 0)
    while len(bad) < most_bad:
        read = done.slow
        done, malformed = read_rows(file.text, end, rules.base, rules.least, rules.n_columns, done, space)
        for k in range(read, done.slow):
            entry, first, last, line = space.slow[k]
            space.values[entry] = float(file.text[first:last].tobytes())
            if not np.isfinite(space.values[entry]):
                row = int(np.searchsorted(space.starts[: done.rows + 1], entry, side="right")) - 1
                slow = int(np.searchsorted(space.slow[: done.slow, 0], space.starts[row]))
                done = Progress(int(line), file.lines_between(begin, int(line)), row, int(space.starts[row]), slow)
                malformed = True
                break
        if not malformed:
            break
        after = file.line_end(done.at)
        problem = problem_of_line(file.text[done.at : after].tobytes(), rules.zero_based, rules.n_features, rules.dtype)
        bad.append((done.lines, problem))
        done = done._replace(at=after, lines=done.lines + 1)
    return _Piece(space, done, bad)
