"""Rows of a source written to a file, one block after the other; the other half of `opening`. And LIBSVM text repaired.

    .csv                 label first, then one column a feature, with a header
    .parquet, .arrow     likewise, in `arrow_files`
    .npz                 the arrays of a CSR matrix, or X, and y; held in memory on the way
    blocks               the block file itself, copied
    anything else        LIBSVM text: label, then index:value for what is not zero, indices from 1

Text is compressed where the name ends in .gz, .bz2, .xz or .zst. Rows without labels have no such column and no y, and
the label 0 in LIBSVM text, which needs one. Numbers are written as short as they can be read back to the same value.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from maxmargin._types import Rows, Vector
from maxmargin.data.formats.file_bytes import ByteStream, compressing
from maxmargin.data.formats.inputs import FORMATS
from maxmargin.data.source import Block
from maxmargin.errors import DataError, unknown_name

_NO_WORD = re.compile(r"^$|[\s:#]")
TEXTS = ("libsvm", "csv")


def write_rows(source: Any, file: BinaryIO, kind: str, ending: str = "") -> None:
    """Write all rows of a source to an open file, text compressed as the ending of its name says."""
    if kind in TEXTS:
        lines = _csv_lines(source) if kind == "csv" else _libsvm_lines(source)
        with compressing(file, ending) as text:
            for line in lines:  # not every compressor takes several at once
                text.write(f"{line}\n".encode())
    elif kind in ("parquet", "arrow"):
        from maxmargin.data.formats.arrow_files import write_table

        _refuse_weights(source.weight)
        write_table(source, file, parquet=kind == "parquet")
    elif kind == "numpy":
        _write_arrays(file, source)
    elif kind == "blocks":
        source.write_blocks(file)
    else:
        raise unknown_name("format", kind, FORMATS)


def _blocks(source: Any) -> Iterator[Block]:
    for block in source.scan():
        _refuse_weights(block.weight)
        yield block


def _refuse_weights(weight: Vector) -> None:
    if np.any(weight != 1.0):
        raise DataError(
            f"the rows have weights, such as {weight[weight != 1.0][0]:g}, and only block files keep them. Write "
            "blocks, or put the rows and labels alone into batches."
        )


def _libsvm_lines(source: Any) -> Iterator[str]:
    for block in _blocks(source):
        X = sparse.csr_matrix(block.X)
        values, columns, starts = _shortest(X.data), (X.indices + 1).tolist(), X.indptr.tolist()
        for i, label in enumerate(_labels(block, source.has_labels)):
            row = slice(starts[i], starts[i + 1])
            pairs = zip(columns[row], values[row], strict=True)
            yield " ".join([_libsvm_word(label), *(f"{column}:{value}" for column, value in pairs if value != "0")])


def _labels(block: Block, has_labels: bool) -> list[Any]:
    """Labels of a block; zeros where there are none."""
    return list(np.asarray(block.y).tolist()) if has_labels else [0] * len(block.y)


def _csv_lines(source: Any) -> Iterator[str]:
    first = ["label"] if source.has_labels else []
    yield ",".join([*first, *(f"x{k + 1}" for k in range(source.n_features))])
    for block in _blocks(source):
        X: Rows = block.X.toarray() if sparse.issparse(block.X) else block.X
        for label, row in zip(_labels(block, source.has_labels), X, strict=True):
            yield ",".join([*([_csv_word(label)] if first else []), *_shortest(row)])


def _write_arrays(file: BinaryIO, source: Any) -> None:
    _refuse_weights(source.weight)
    X, y = source.head(source.n_rows)
    if y.dtype.kind == "O":
        raise DataError("labels of several kinds cannot be kept in .npz; use LIBSVM text or CSV.")
    arrays: dict[str, Any] = {"y": y} if source.has_labels else {}
    if sparse.issparse(X):
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape, "format": b"csr"}
    else:
        arrays["X"] = X
    np.savez(file, **arrays)


def _shortest(values: Any) -> list[str]:
    """Numbers with the fewest digits that still tell them from their neighbours; 1 in place of 1.0."""
    digits = ".9g" if values.dtype == np.float32 else ""
    return [_word(value, digits) for value in values.tolist()]


def _word(value: Any, digits: str = "") -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else format(value, digits)


def _libsvm_word(label: Any) -> str:
    word = _word(label)
    if isinstance(label, str) and _NO_WORD.search(word):
        raise DataError(
            f"the label {word!r} cannot stand in LIBSVM text, where a label ends at a space and has no ':' or '#'. "
            "Write CSV, or rename the label."
        )
    return word


def _csv_word(label: Any) -> str:
    word = _word(label)
    if not word.strip():
        raise DataError("an empty label cannot be told from a missing one in CSV. Name the label, or write .npz.")
    needs = any(sign in word for sign in ',";\t\n')
    return '"' + word.replace('"', '""') + '"' if needs else word


def sorted_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file with increasing columns; a column that is given twice is an error, for nobody knows which."""
    with io.BufferedReader(ByteStream(path)) as file:
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


def _column(word: bytes, path: Path, number: int) -> int:
    if word.startswith(b"qid:"):
        return -1
    try:
        return int(word.partition(b":")[0])
    except ValueError:
        raise DataError(
            f"{path}, line {number}: found {word.decode(errors='replace')!r} where index:value is expected."
        ) from None
