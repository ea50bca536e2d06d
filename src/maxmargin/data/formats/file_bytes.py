"""Bytes of files: uncompressed on the way, as whole lines of text, or as numbers; and the way back into compression.

Lines and numbers are read into memory that is used again, a bufferful or a block at a time.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import re
import weakref
import zlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import DataError, MissingExtraError

ENDINGS = (".gz", ".bz2", ".xz", ".zst")
"""Of names that say how a text is compressed."""
PIECE_BYTES = 1 << 20  # read, or converted, at a time
LONGEST_LINE = 1 << 30
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
NOT_FINITE = (b"nan", b"inf", b"infinity")
LONE_RETURN = "found a carriage return within the line; lines must end in LF or CRLF. Convert the line ends."
_GZIP_MAGIC, _XZ_MAGIC, _ZSTANDARD_MAGIC = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_BZ2_MAGIC, _BZ2_BLOCK = b"BZh", (b"1AY&SY", b"\x17rE8P\x90")  # a first block, or the end of an empty file
_UTF8_MARK, _UTF16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")


class ByteStream(io.RawIOBase):
    """A file as the bytes that were compressed into it; `position` counts the bytes on disk."""

    def __init__(self, path: str | os.PathLike[str]):
        self._files = ExitStack()  # before anything can fail: whatever is opened is closed with this object
        self.path = os.fspath(path)
        self._raw = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._files.callback(self._raw.close)
        self._stream = _uncompressed(self._raw)
        self._files.callback(self._stream.close)

    @property
    def position(self) -> int:
        """Bytes taken from the disk so far."""
        return self._raw.tell()

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` as far as bytes are at hand; 0 at the end of the file."""
        if self._stream is self._raw:
            return self._raw.readinto(buffer) or 0
        try:
            return self._stream.readinto(buffer) or 0
        except EOFError:
            raise DataError(
                f"{self.path}: the compressed file ends in the middle, after {self.position:,} bytes. Copy it again."
            ) from None
        except (zlib.error, lzma.LZMAError, OSError) as error:
            raise DataError(f"{self.path}: the compressed file is damaged ({error}). Copy it again.") from None

    def close(self) -> None:
        """Close the file."""
        self._files.close()
        super().close()


def _uncompressed(raw: io.FileIO) -> io.RawIOBase | io.BufferedIOBase:
    first = raw.read(16)
    raw.seek(0)
    if first.startswith(_GZIP_MAGIC):
        return gzip.GzipFile(fileobj=raw)
    if first.startswith(_BZ2_MAGIC) and (first[4:10] in _BZ2_BLOCK or len(first) < 10):
        return bz2.BZ2File(raw)
    if first.startswith(_XZ_MAGIC):
        return lzma.LZMAFile(raw)
    return _Zstandard(raw) if first.startswith(_ZSTANDARD_MAGIC) else raw


class _Zstandard(io.RawIOBase):
    """Frames of Zstandard one after the other, refused where the last is cut short."""

    def __init__(self, raw: io.FileIO):
        self._raw = raw
        self._new_frame, _ = _zstandard()
        self._frame: Any = None
        self._ready = memoryview(b"")
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from what is uncompressed, uncompressing more when nothing is left."""
        while not self._ready:
            compressed = self._left or self._raw.read(PIECE_BYTES)
            self._left = b""
            if not compressed:
                if self._frame is not None:
                    raise EOFError
                return 0
            if self._frame is None:
                self._frame = self._new_frame()
            try:
                self._ready = memoryview(self._frame.decompress(compressed))
            except Exception as error:  # each of the two packages has its own kind of error for damaged bytes
                raise OSError(str(error)) from None
            if self._frame.eof:
                self._left = self._frame.unused_data
                self._frame = None
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def _zstandard() -> tuple[Callable[[], Any], Callable[[BinaryIO], Any]]:
    """What uncompresses one frame, and what compresses into a file; of the standard library where it has them."""
    try:
        from compression import zstd  # type: ignore[import-not-found] # Python 3.14 and newer

        return zstd.ZstdDecompressor, lambda file: zstd.ZstdFile(file, "wb")
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError("zstandard", "files") from error
    return (
        lambda: zstandard.ZstdDecompressor().decompressobj(),
        lambda file: zstandard.ZstdCompressor().stream_writer(file, closefd=False),
    )


def compressing(file: BinaryIO, ending: str) -> AbstractContextManager[Any]:
    """Where to write what is to be compressed into `file`, as the ending of its name says; `file` itself for others."""
    if ending == ".gz":  # no name and no time in it: the same rows are the same bytes
        return gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0)
    if ending == ".bz2":
        return bz2.BZ2File(file, "wb")
    if ending == ".xz":
        return lzma.LZMAFile(file, "wb")
    return nullcontext(file) if ending != ".zst" else _zstandard()[1](file)


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


def beyond(number: bytes | float, dtype: np.dtype[Any]) -> str | None:
    """What to say of a decimal number that is not finite in a type; None where it is."""
    with np.errstate(over="ignore"):
        if math.isfinite(dtype.type(float(number))):
            return None
    wider = '; dtype="float64" holds more' if math.isfinite(float(number)) else ""
    return f"is beyond {dtype}{wider}. Scale the feature."


class ReadBuffers:
    """Memory for any one block, and the files it may be read from; for one thread at a time.

    A piece of a file is summed up, and converted, while it is still in the cache.
    """

    def __init__(self, paths: Iterable[Path], **memory: NDArray[Any]):
        with ExitStack() as opened:
            self._files = {path: opened.enter_context(open(path, "rb", buffering=0)) for path in paths}
            self._opened = opened.pop_all()
        weakref.finalize(self, self._opened.close)
        self.memory = memory
        self._piece = np.empty(PIECE_BYTES, dtype=np.uint8)

    @property
    def values(self) -> NDArray[Any]:
        """Memory for the values of a block."""
        return self.memory["values"]

    @property
    def n_bytes(self) -> int:
        """Bytes of memory for a block."""
        return sum(part.nbytes for part in self.memory.values())

    def close(self) -> None:
        """Close the files."""
        self._opened.close()

    def fill(self, target: NDArray[Any], path: Path, offset: int, kind: np.dtype[Any], crc: int = 0) -> int:
        """Fill `target` with numbers that have type `kind` in the file; return the checksum continued.

        EOFError where the file ends first.
        """
        self._files[path].seek(offset)
        if target.dtype == kind:
            return self._fill(target.view(np.uint8), path, crc)
        step = PIECE_BYTES // kind.itemsize
        for at in range(0, len(target), step):
            converted = target[at : at + step]
            given = self._piece[: len(converted) * kind.itemsize]
            crc = self._fill(given, path, crc)
            np.copyto(converted, given.view(kind), casting="unsafe")
        return crc

    def _fill(self, target: NDArray[np.uint8], path: Path, crc: int) -> int:
        view, file, at = target.data, self._files[path], 0
        while at < len(view):
            piece = view[at : at + PIECE_BYTES]
            count = file.readinto(piece)
            if not count:
                raise EOFError
            crc = zlib.crc32(piece[:count], crc)
            at += count
        return crc
