"""LIBSVM text whose rows have their columns in any order, brought into order."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from maxmargin.data.compressed import ByteStream
from maxmargin.errors import DataError


def sorted_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file with increasing columns; a column that is given twice is an error, for nobody knows which."""
    with io.BufferedReader(_Raw(path)) as file:
        for number, line in enumerate(file, start=1):
            text, hash_sign, comment = line.rstrip(b"\r\n").partition(b"#")
            words = text.split()
            pairs = sorted((_column(word, path, number), word) for word in words[1:])
            for (before, _), (column, word) in pairwise(pairs):
                if before == column:
                    raise DataError(f"{path}, line {number}: column {column} is given twice, as {word.decode()!r}.")
            yield (
                b" ".join([*words[:1], *(word for _, word in pairs)]) + (b" #" + comment if hash_sign else b"") + b"\n"
            )


class _Raw(io.RawIOBase):
    """The bytes of a file, uncompressed, as Python's own readers take them."""

    def __init__(self, path: Path):
        self._stream = ByteStream(path)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer."""
        return self._stream.readinto(memoryview(buffer))

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()


def _column(word: bytes, path: Path, number: int) -> int:
    if word.startswith(b"qid:"):
        return -1
    try:
        return int(word.partition(b":")[0])
    except ValueError:
        raise DataError(
            f"{path}, line {number}: found {word.decode(errors='replace')!r} where index:value is expected."
        ) from None
