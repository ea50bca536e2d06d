"""How bytes become rows, and rows bytes: text, tables, arrays and block files."""

from __future__ import annotations

from pathlib import Path

from maxmargin.data.formats import compressed
from maxmargin.data.formats.block_format import SUFFIX

_ENDINGS = {
    "libsvm": (),
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "numpy": (".npy", ".npz"),
    "blocks": (SUFFIX,),
}
FORMATS = tuple(_ENDINGS)


def format_by_ending(path: Path) -> str:
    """The format that the ending of a name promises, in front of that of a compression."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in compressed.ENDINGS:
        endings.pop()
    return next((name for name, known in _ENDINGS.items() if endings and endings[-1] in known), "libsvm")
