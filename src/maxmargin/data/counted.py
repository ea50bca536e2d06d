"""How much of its files a source has read."""

from __future__ import annotations

import threading

from maxmargin.data.pulled import PulledSource


class CountedSource(PulledSource):
    """A source that counts what it reads from files; several threads may read at the same time."""

    def __init__(self) -> None:
        self._counting = threading.Lock()
        self._bytes_read = 0
        self._rows_read = 0

    @property
    def bytes_read(self) -> int:
        """Bytes read from files so far, those of a first pass included."""
        return self._bytes_read

    @property
    def rows_read(self) -> int:
        """Rows read so far, those of a first pass included."""
        return self._rows_read

    def _count(self, bytes_read: int, rows: int) -> None:
        with self._counting:
            self._bytes_read += bytes_read
            self._rows_read += rows
