"""Rows of text files, plain or compressed, whatever the text looks like.

A bufferful of lines is cut into one piece a thread, at line ends; the pieces are read at the same time, and handed out
in order. A compiled loop reads what is right and stops at the first line that is not, which is then an error that names
file and line, or is left out where that was asked for.

As long as every label reads as a number all of them are numbers, and "1", "+1" and "1.0" are one class. With the first
that does not, all of them are words. A label that is neither a finite number nor a word gets a code as well, but its
rows must be left out.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.text.rows import (
    COMPLETE,
    MALFORMED,
    UNFINISHED,
    LabelSpace,
    RowSpace,
    TextProgress,
    code_labels,
    label_numbers,
)
from maxmargin.backends.threads import StopFlag, run_together
from maxmargin.data.formats.file_bytes import NUMBER, TextFile
from maxmargin.data.formats.inputs import InputFiles, Reading, RowBatch
from maxmargin.data.labels import MOST_LABELS, LabelTable, no_codes
from maxmargin.errors import DataError

PIECE_BYTES = 4 << 20  # of text for each thread: its rows stay in the outer caches until they are written
_SPARE = 9  # eighths of a piece that there is room for: the next one may be a line longer
_NUL = "found a NUL byte; the file is binary, or damaged. Copy it again, or name its format with format=."


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
                self._note_kind(code)
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

    def _note_kind(self, code: int) -> None:
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
