"""The data that a command works on: options to open them, a line of progress while they are read, and sizes.

Everything that is not a result goes to stderr, so that results can be piped.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from maxmargin._types import Labels, Rows
    from maxmargin.data.batches import ReadProgress

_SECONDS_BETWEEN_LINES = 2.0

Files = Annotated[
    list[Path],
    typer.Argument(help="Data: LIBSVM text (also .gz .bz2 .xz .zst), CSV, Parquet, Arrow, .npy, .npz, blocks."),
]
Format = Annotated[
    str | None, typer.Option("--format", help="libsvm, csv, parquet, arrow, numpy or blocks; else by the file's name.")
]
Label = Annotated[
    str | None, typer.Option("--label", help="Column with the label, by name or position (CSV, Parquet).")
]
LabelFiles = Annotated[list[Path] | None, typer.Option("--labels", help="A .npy file of labels for each .npy of rows.")]
SkipBadRows = Annotated[
    int, typer.Option("--skip-bad-rows", help="Leave out up to so many malformed lines, and list them.", min=0)
]
Cache = Annotated[
    Path | None, typer.Option("--cache", help="Directory that keeps the data as blocks; else a temporary one.")
]
Threads = Annotated[int | None, typer.Option("--n-jobs", help="Threads; all cores if not given.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Json = Annotated[bool, typer.Option("--json", help="Results as one JSON object on stdout, for machines.")]


@dataclass(frozen=True)
class Opening:
    """How to open the files of a command."""

    files: list[Path]
    format: str | None = None
    label: str | None = None
    labels: list[Path] | None = None
    skip_bad_rows: int = 0
    cache: Path | None = None
    n_jobs: int | None = None
    quiet: bool = False
    block_memory: str = "64MB"
    n_features: int | None = None
    tells_problems: bool = True

    @contextmanager
    def source(self) -> Iterator[Any]:
        """The files as a source, closed at the end; what had to be left out is told."""
        from maxmargin.data.opening import open as open_data

        with _Reading(quiet=self.quiet) as reading:
            source = open_data(
                [str(path) for path in self.files],
                format=self.format,
                label=_column(self.label),
                labels=self.labels,
                memory=self.block_memory,
                n_features=self.n_features,
                skip_bad_rows=self.skip_bad_rows,
                cache=self.cache,
                n_jobs=self.n_jobs,
                progress=reading.tell,
            )
            source.n_rows  # noqa: B018 - reads the files, with their progress
        with source:
            for problem in source.skipped if self.tells_problems else ():
                tell(f"left out: {problem}")
            yield source


def in_memory(source: Any) -> tuple[Rows, Labels]:
    """All rows and labels of a source as arrays."""
    rows: tuple[Rows, Labels] = source.head(source.n_rows)
    return rows


def bytes_in_memory(source: Any) -> int:
    """About what the rows of a source would take as arrays."""
    return int(source.path.stat().st_size)


def tell(words: str) -> None:
    """A line for the person at the terminal."""
    print(words, file=sys.stderr, flush=True)


def _column(label: str | None) -> str | int | None:
    """A column by position where the words are a number, else by name."""
    if label is None:
        return None
    try:
        return int(label)
    except ValueError:
        return label


class _Reading:
    """Progress of the first pass: a bar on a terminal, plain lines elsewhere."""

    def __init__(self, *, quiet: bool):
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._begun = self._told = time.perf_counter()

    def __enter__(self) -> _Reading:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("reading"), BarColumn(24), TextColumn("{task.fields[words]}"), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tell(self, at: ReadProgress) -> None:
        """So much has been read."""
        if self._quiet:
            return
        now = time.perf_counter()
        seconds = max(now - self._begun, 1e-9)
        words = f"{at.rows:,} rows, {at.rows / seconds:,.0f} rows/s, {at.bytes_read / seconds / 1e6:.0f} MB/s"
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("reading", total=at.bytes_total, words=words)
            self._bar.update(self._task, completed=at.bytes_read, words=words)
        elif now - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = now
            share = f"{at.bytes_read / at.bytes_total:.0%}, " if at.bytes_total else ""
            tell(f"reading: {share}{words}")
