"""A text file as whole lines, a bufferful at a time, in memory that is used again; and what numbers in it look like."""

from __future__ import annotations

import math
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.formats.compressed import ByteStream
from maxmargin.errors import DataError

LONGEST_LINE = 1 << 30
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
NOT_FINITE = (b"nan", b"inf", b"infinity")
LONE_RETURN = "found a carriage return within the line; lines must end in LF or CRLF. Convert the line ends."
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def beyond(number: bytes | float, dtype: np.dtype[Any]) -> str | None:
    """What to say of a decimal number that is not finite in a type; None where it is."""
    with np.errstate(over="ignore"):
        if math.isfinite(dtype.type(float(number))):
            return None
    wider = '; dtype="float64" holds more' if math.isfinite(float(number)) else ""
    return f"is beyond {dtype}{wider}. Scale the feature."


class TextFile:
    """Bytes of a text: after `advance()`, `text[:end]` are lines that were not consumed yet.

    The last line ends in a line feed, also where the file has none there. Who reads sets `consumed`; what lies behind
    it comes again at the beginning of the next bufferful.
    """

    def __init__(self, path: str | os.PathLike[str], size: int):
        self._stream = ByteStream(path)
        self._buffer = bytearray()
        self.path = self._stream.path
        self._filled = 0
        self._begun = False
        self.consumed = 0
        self.end = 0
        self.at_end = False
        self._hold(size)

    def _hold(self, size: int) -> None:
        """Memory for `size` bytes and a line feed behind them, with what is in the old one."""
        buffer = bytearray(size + 1)
        buffer[: self._filled] = self._buffer[: self._filled]
        self._buffer = buffer
        self.text: NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8)

    @property
    def position(self) -> int:
        """Bytes taken from the disk so far."""
        return self._stream.position

    def advance(self) -> bool:
        """Read on; False when everything was consumed and the file has no more."""
        left = self._filled - self.consumed
        if self.at_end and left == 0:
            return False
        if self.consumed == 0 and self._filled == len(self.text) - 1:
            self._make_longer()
        else:
            self.text[:left] = self.text[self.consumed : self._filled]
        self._filled, self.consumed = left, 0
        while True:
            self._fill()
            if self.at_end:
                if self._filled and self.text[self._filled - 1] != ord("\n"):
                    self.text[self._filled] = ord("\n")
                    self._filled += 1
                self.end = self._filled
                return self._filled > 0
            self.end = self._buffer.rfind(b"\n", left, self._filled) + 1
            if self.end:
                return True
            self._make_longer()

    def _make_longer(self) -> None:
        if len(self.text) > LONGEST_LINE:
            raise DataError(
                f"{self.path}: no end of a line within {LONGEST_LINE:,} bytes. Is it text, and are all quotes closed?"
            )
        self._hold(2 * len(self.text))

    def _fill(self) -> None:
        """Read until the buffer is full or the file ends."""
        view = memoryview(self._buffer)
        while self._filled < len(self.text) - 1:
            count = self._stream.readinto(view[self._filled : len(self.text) - 1])
            if count == 0:
                self.at_end = True
                break
            self._filled += count
        if not self._begun:
            self._begun = True
            first = self.text[: min(3, self._filled)].tobytes()
            if first.startswith(_UTF16_MARKS):
                raise DataError(f"{self.path}: the text is UTF-16. Save it as UTF-8.")
            if first == _UTF8_MARK:
                self.text[:3] = ord(" ")  # spaces in front of a line mean nothing

    def line_end(self, at: int) -> int:
        """The first byte of the line after the one that byte `at` stands in."""
        return self._buffer.find(b"\n", at, self.end) + 1 or self.end

    def lines_between(self, begin: int, end: int) -> int:
        """Line ends among the given bytes."""
        return self._buffer.count(b"\n", begin, end)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
