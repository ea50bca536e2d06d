"""What the text model files of LIBSVM and LIBLINEAR share: a header of words, then lines of numbers.

    word value value ...        one a line, each word once, in any order
    SV  or  w                   the word alone that ends the header
    number number ...           one line a support vector, or a feature

Numbers are written with 17 digits, which give every double back, and must be finite when they are read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Vector
from maxmargin.data.replacing import replacing
from maxmargin.errors import ModelFileError

Value = TypeVar("Value")

MOST = (1 << 31) - 1
"""The largest whole number that LIBSVM and LIBLINEAR can read."""

_MOST_DIGITS = 20  # longer ones are not worth the time to read them
_SHOWN = 40  # characters of what was found that an error shows


class TextModel:
    """Header and lines of a model file, with errors that name file and line."""

    def __init__(self, path: str | os.PathLike[str], format_name: str, words: Collection[str], last: str):
        self._path, self._format = os.fspath(path), format_name
        with open(path, "rb") as file:
            self._lines = file.read().split(b"\n")
        if self._lines[-1] == b"":  # what follows the last line end is no line
            self._lines.pop()
        self._n_read = 0
        self._header: dict[str, tuple[int, list[bytes]]] = {}
        self._read_header(words, last)

    def _read_header(self, words: Collection[str], last: str) -> None:
        while True:
            line, parts = self.next_line(f"a line that says {last}")
            word = parts[0].decode("ascii", "replace") if parts else ""
            if word == last and len(parts) == 1:
                return
            if word not in words:
                self.refuse(line, f"{_shown(*parts)} is no line of its header", f"{', '.join(words)}, {last}")
            if word in self._header:
                self.refuse(line, f"{word} stands there again", "each word once")
            self._header[word] = line, parts[1:]

    def __contains__(self, word: str) -> bool:
        return word in self._header

    def word(self, name: str, allowed: Collection[str]) -> str:
        """What the header says under a name: one of some words."""
        [word] = self._values(name, 1, lambda _, text: text.decode("ascii", "replace"))
        if word not in allowed:
            self.refuse_word(name, f"one of {', '.join(allowed)}")
        return word

    def integer(self, name: str, least: int) -> int:
        """A whole number of the header, not less than the least."""
        [value] = self._values(name, 1, self.integer_in)
        if value < least:
            self.refuse(self._header[name][0], f"{name} {value}", f"{name} of at least {least}")
        return value

    def number(self, name: str) -> float:
        """A finite number of the header."""
        return self._values(name, 1, self.number_in)[0]

    def numbers(self, name: str, count: int) -> Vector:
        """So many finite numbers of the header."""
        return np.array(self._values(name, count, self.number_in), dtype=np.float64)

    def integers(self, name: str, count: int) -> NDArray[np.int64]:
        """So many whole numbers of the header."""
        return np.array(self._values(name, count, self.integer_in), dtype=np.int64)

    def labels(self, count: int) -> NDArray[np.int64]:
        """The labels of the header, which differ."""
        labels = self.integers("label", count)
        if len(np.unique(labels)) < count:
            self.refuse_word("label", "labels that differ")
        return labels

    def _values(self, name: str, count: int, read: Callable[[int, bytes], Value]) -> list[Value]:
        if name not in self._header:
            self.refuse(self._n_read, f"the header ends without {name}", f"a line that begins with {name}")
        line, parts = self._header[name]
        if len(parts) != count:
            self.refuse(line, f"{name} with {len(parts)} values", f"{count} of them")
        return [read(line, part) for part in parts]

    def next_line(self, expected: str) -> tuple[int, list[bytes]]:
        """Number of the next line, counting from 1, and what it holds, cut at blanks."""
        if self._n_read >= len(self._lines):
            self.refuse(self._n_read, "the file ends", expected)
        self._n_read += 1
        return self._n_read, self._lines[self._n_read - 1].split()

    def expect_lines(self, count: int, what: str) -> None:
        """Refuse a header that promises more lines than there are, before room is made for them."""
        if count > len(self._lines) - self._n_read:
            self.refuse(len(self._lines), "the file ends", f"{count} {what} after its header")

    def expect_end(self) -> None:
        """Refuse a file that goes on."""
        while self._n_read < len(self._lines):
            line, parts = self.next_line("nothing")
            if parts:
                self.refuse(line, f"{_shown(*parts)} follows the last line", "the end of the file")

    def number_in(self, line: int, text: bytes) -> float:
        """A finite number of a line."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or b"_" in text:  # Python allows 1_000, the formats do not
            self.refuse(line, _shown(text), "a finite number")
        return value

    def integer_in(self, line: int, text: bytes) -> int:
        """A whole number of a line."""
        digits = text[1:] if text[:1] in (b"-", b"+") else text
        if not digits.isdigit() or len(digits) > _MOST_DIGITS or abs(int(text)) > MOST:
            self.refuse(line, _shown(text), "a whole number of 32 bits")
        return int(text)

    def refuse_word(self, name: str, expected: str) -> NoReturn:
        """Refuse the line of the header that begins with a word."""
        line, parts = self._header[name]
        self.refuse(line, f"{name} {_shown(*parts)}", expected)

    def refuse(self, line: int, found: str, expected: str) -> NoReturn:
        """Raise the error about a line."""
        raise ModelFileError(
            f"{self._path}, line {line}: {found}, where a {self._format} model file has {expected}. "
            "Copy the file again from where it came, or save the model again."
        )


def written(values: Iterable[Any]) -> str:
    """Numbers with 17 digits, a blank between."""
    return " ".join(f"{value:.17g}" for value in values)


def write_lines(lines: Iterable[str], path: str | os.PathLike[str]) -> None:
    """Write lines of ASCII to `path`, whole or not at all."""
    with replacing(path) as file:
        file.writelines(line.encode("ascii") + b"\n" for line in lines)


def _shown(*parts: bytes) -> str:
    text = b" ".join(parts)
    return repr(text[:_SHOWN].decode("utf-8", "replace")) + ("..." if len(text) > _SHOWN else "")
