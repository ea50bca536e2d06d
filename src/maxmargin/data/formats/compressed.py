"""Bytes of a file, uncompressed on the way where its first bytes say that it is compressed; and the way back."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, BinaryIO

from maxmargin.errors import DataError, MissingExtraError

_GZIP_MAGIC, _XZ_MAGIC, _ZSTANDARD_MAGIC = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_BZ2_MAGIC, _BZ2_BLOCK = b"BZh", (b"1AY&SY", b"\x17rE8P\x90")  # a first block, or the end of an empty file
_PIECE = 1 << 20
ENDINGS = (".gz", ".bz2", ".xz", ".zst")
"""Of names that say how a text is compressed."""


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
            compressed = self._left or self._raw.read(_PIECE)
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
