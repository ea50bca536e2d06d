"""What a source made of another one passes on."""

from __future__ import annotations

import hashlib
from typing import Any

from numpy.typing import NDArray

from maxmargin._types import Labels, Vector
from maxmargin.data.pulled import PulledSource


class DerivedSource(PulledSource):
    """A source that reads another one, and says of its rows what that one says."""

    def __init__(self, source: PulledSource):
        self.source = source

    @property
    def n_rows(self) -> int:
        """Number of rows in all blocks together."""
        return self.source.n_rows

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.source.n_features

    @property
    def n_blocks(self) -> int:
        """Number of blocks in a pass."""
        return self.source.n_blocks

    @property
    def has_labels(self) -> bool:
        """Whether the rows have labels."""
        return self.source.has_labels

    @property
    def classes(self) -> Labels:
        """The different labels, sorted."""
        return self.source.classes

    @property
    def codes(self) -> NDArray[Any]:
        """Number of the class of every row."""
        return self.source.codes

    @property
    def y(self) -> Labels:
        """Labels of all rows."""
        return self.source.y

    @property
    def weight(self) -> Vector:
        """Weights of all rows."""
        return self.source.weight

    @property
    def bytes_read(self) -> int:
        """Bytes read from files so far, by the source underneath."""
        return self.source.bytes_read

    @property
    def rows_read(self) -> int:
        """Rows read so far, by the source underneath."""
        return self.source.rows_read

    @property
    def n_bytes(self) -> int:
        """About how many bytes all rows of the source underneath would take in memory."""
        return self.source.n_bytes

    @property
    def skipped(self) -> tuple[str, ...]:
        """What was wrong with each row that the source underneath left out."""
        return self.source.skipped

    def span(self, k: int) -> tuple[int, int]:
        """First row of block k, and the first after it."""
        return self.source.span(k)

    def buffers(self) -> Any:
        """Memory for a block of the source underneath."""
        return self.source.buffers()

    def close(self) -> None:
        """Close the source underneath."""
        self.source.close()


def combined(*parts: object) -> str:
    """One fingerprint of several."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
