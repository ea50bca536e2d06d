"""Rows of text files, plain or compressed, whatever the text looks like.

A bufferful of lines is cut into one piece a thread, at line ends; the pieces are read at the same time, and handed out
in order. A compiled loop reads what is right and stops at the first line that is not, which is then an error that names
file and line, or is left out where that was asked for.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from maxmargin._loops.text.rows import COMPLETE, MALFORMED, UNFINISHED, RowSpace, TextProgress
from maxmargin.backends.threads import StopFlag, run_together
from maxmargin.data.formats.batches import RowBatch
from maxmargin.data.formats.inputs import InputFiles, Reading
from maxmargin.data.formats.text_file import TextFile
from maxmargin.data.formats.text_labels import TextLabels
from maxmargin.data.labels import no_codes

PIECE_BYTES = 4 << 20  # of text for each thread: its rows stay in the outer caches until they are written
_SPARE = 9  # eighths of a piece that there is room for: the next one may be a line longer
_NUL = "found a NUL byte; the file is binary, or damaged. Copy it again, or name its format with format=."


class _Piece(NamedTuple):
    """Rows of one piece of text."""

    space: RowSpace
    done: TextProgress
    bad: list[tuple[int, str]]
    """Line, counted from 0 in the piece, and what is wrong with it."""


class TextInput(InputFiles):
    """Rows of text files, one file after the other."""

    _labels: TextLabels
    _new_labels = TextLabels
    _least_bytes: int
    """Of text, for a value."""

    def __init__(
        self, paths: Sequence[Path], how: Reading, settings: str, has_labels: bool, threads: int, piece_bytes: int
    ):
        super().__init__(paths, how, settings, has_labels)
        self._threads = threads
        self._piece_bytes = piece_bytes
        self._spaces: list[RowSpace | None] = [None] * threads

    @abstractmethod
    def _begin(self, file: TextFile, lines: int) -> tuple[int, int]:
        """Where rows begin in a bufferful that has `lines` lines in front of it, and how many lines are before them."""

    @abstractmethod
    def _read(self, file: TextFile, end: int, done: TextProgress, space: RowSpace) -> tuple[TextProgress, int]:
        """Read rows up to byte `end`, and go on after those `done`; how far, and why it stopped there."""

    @abstractmethod
    def _problem(self, line: bytes) -> str:
        """What is wrong with a line, in words."""

    @abstractmethod
    def _batch(self, space: RowSpace, done: TextProgress) -> RowBatch:
        """The rows that were read, with the label 0."""

    def batches(self) -> Iterator[RowBatch]:
        """All rows; each batch is overwritten by the next."""
        yield from super().batches()
        self._spaces = [None] * self._threads

    def _rows_of(self, number: int) -> Iterator[RowBatch]:
        path = self.paths[number]
        size, lines = min(self._threads * self._piece_bytes, max(64, 2 * path.stat().st_size)), 0
        with closing(TextFile(path, size)) as file:
            while file.advance():
                self._at(file.position)
                file.consumed, lines = self._begin(file, lines)
                edges = _line_edges(file, file.consumed, self._threads)
                tasks = [self._task(file, k, begin, end) for k, (begin, end) in enumerate(edges)]
                for (begin, _), piece in zip(edges, run_together(tasks, brief=True) if tasks else [], strict=True):
                    yield from self._usable(file, piece, lines, begin)
                    lines += piece.done.lines
                    file.consumed = piece.done.at

    def _task(self, file: TextFile, thread: int, begin: int, end: int) -> Callable[[StopFlag], _Piece]:
        space = self._spaces[thread]
        if space is None or 2 * len(space.label_begin) < end - begin:
            space = self._spaces[thread] = self._new_space(_SPARE * (end - begin) // 8)
        return partial(self._read_piece, file, begin, end, self.how.skip_bad_rows - len(self.skipped) + 1, space)

    def _new_space(self, length: int) -> RowSpace:
        """Room for every row, value and slow value that so many bytes can hold."""
        values, rows = length // self._least_bytes + 1, length // 2 + 1
        starts = np.empty(rows + 1, dtype=np.int64)
        starts[0] = 0
        return RowSpace(
            np.empty(values, dtype=self.how.dtype),
            np.empty(values, dtype=np.int32),
            starts,
            np.empty(rows, dtype=np.int64),
            np.empty(rows, dtype=np.int64),
            np.empty((length // 4 + 1, 4), dtype=np.int64),
        )

    def _read_piece(
        self, file: TextFile, begin: int, end: int, most_bad: int, space: RowSpace, stop: StopFlag
    ) -> _Piece:
        """Read all lines of a piece but the malformed ones; give up when there are `most_bad` of those.

        A piece takes milliseconds: Ctrl-C, which raises the flag, can wait for it.
        """
        bad: list[tuple[int, str]] = []
        done = TextProgress(begin, 0, 0, 0, 0)
        while len(bad) < most_bad:
            before = done
            done, reason = self._read(file, end, done, space)
            for k in range(before.slow, done.slow):
                entry, first, last, line = space.slow[k]
                with np.errstate(over="ignore"):  # what becomes infinite is told
                    space.values[entry] = float(file.text[first:last].tobytes())
                if not np.isfinite(space.values[entry]):
                    row = int(np.searchsorted(space.starts[: done.rows + 1], entry, side="right")) - 1
                    slow = int(np.searchsorted(space.slow[: done.slow, 0], space.starts[row]))
                    lines = before.lines + file.lines_between(before.at, int(line))
                    done, reason = TextProgress(int(line), lines, row, int(space.starts[row]), slow), MALFORMED
                    break
            if reason == COMPLETE or (reason == UNFINISHED and not file.at_end):
                break
            after = file.line_end(done.at)
            malformed = file.text[done.at : after].tobytes()
            bad.append((done.lines, _NUL if b"\0" in malformed else self._problem(malformed)))
            done = done._replace(at=after, lines=done.lines + 1)
        return _Piece(space, done, bad)

    def _usable(self, file: TextFile, piece: _Piece, lines: int, begin: int) -> Iterator[RowBatch]:
        """The rows of a piece with codes for their labels, but those that are left out, which are told line by line."""
        space, n_rows = piece.space, piece.done.rows
        begins, ends = space.label_begin[:n_rows], space.label_end[:n_rows]
        bad = [(lines + line + 1, problem) for line, problem in piece.bad]

        def line_of(row: int) -> int:
            return lines + file.lines_between(begin, int(begins[row])) + 1

        parts, refused = [no_codes(n_rows)], []
        if n_rows and self.has_labels:
            parts = self._labels.encode(file.text, begins, ends, lambda row: f"{file.path}, line {line_of(row)}")
            refused = self._labels.refused(parts[0])
            bad += [(line_of(row), problem) for row, problem in refused]
        for line, problem in sorted(bad):
            self._leave_out(f"{file.path}, line {line}: {problem}")
        if n_rows:
            first, *others = self._batch(space, piece.done).labelled(parts)
            yield from first.without([row for row, _ in refused])
            yield from others


def _line_edges(file: TextFile, begin: int, count: int) -> list[tuple[int, int]]:
    """Cut the lines from byte `begin` on into at most `count` pieces of about the same size."""
    length = file.end - begin
    edges = [begin, *(file.line_end(begin + length * k // count) for k in range(1, count)), file.end]
    return [(first, last) for first, last in itertools.pairwise(edges) if last > first]
