"""Files, or batches that somebody makes, as a source.

The first pass reads the input once and writes it to a block file: into the directory that the user names, where it is
found again next time, or into a temporary one that is removed with the source. Every later pass reads the block file.
Nothing is read before something is asked for that only the rows can tell.
"""

from __future__ import annotations

import os
import secrets
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.batches import Input, ReadProgress
from maxmargin.data.block_format import SUFFIX, read_index
from maxmargin.data.block_writer import write_blocks
from maxmargin.data.stored import StoredSource
from maxmargin.data.temporary import TemporaryFolder
from maxmargin.errors import ParameterError


class FileSource(StoredSource):
    """The rows of an input, read through a block file that the first pass writes."""

    def __init__(
        self,
        rows: Input,
        block_bytes: int,
        dtype: np.dtype[Any],
        n_features: int | None = None,
        cache: str | os.PathLike[str] | None = None,
        progress: Callable[[ReadProgress], object] | None = None,
    ):
        super().__init__()
        self._input = rows
        self._block_bytes = block_bytes
        self._dtype = dtype
        self._asked_features = n_features
        self._cache = None if cache is None else Path(cache)
        self._progress = progress
        self._remove: Callable[[], object] | None = None
        if self._cache is not None and not self._cache.is_dir():
            raise ParameterError(f"cache={os.fspath(self._cache)!r} is not a directory. Make it first.")

    def _title(self) -> str:
        return str(self._input)

    @property
    def has_labels(self) -> bool:
        """Whether the rows have labels; nothing is read to tell."""
        return self._input.has_labels

    def _made(self) -> Path:
        """Find the block file in the cache, or write it."""
        if self._cache is None:
            folder = TemporaryFolder()
            self._remove = weakref.finalize(self, folder.remove)
            path = folder.path / f"rows{SUFFIX}"
        else:
            key = self._input.key()
            if key is None:
                path = self._cache / f"batches-{secrets.token_hex(8)}{SUFFIX}"
            else:
                path = self._cache / f"{key[:16]}-{self._block_bytes}{SUFFIX}"
                if path.is_file():
                    return path
        try:
            write_blocks(path, self._input, self._block_bytes, self._dtype, self._asked_features, self._progress)
        except BaseException:  # Ctrl-C, too: the temporary directory must not outlive what it was made for
            self._forget()
            raise
        self._count(self._input.bytes_read, read_index(path)[0].n_rows)
        return path

    def _forget(self) -> None:
        if self._remove is not None:
            self._remove()

    def close(self) -> None:
        """Remove the block file where it was temporary. The source cannot be read any more."""
        super().close()
        self._forget()
