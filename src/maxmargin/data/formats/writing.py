"""Rows of a source written to a file, one block after the other; the other half of `opening`.

    .csv                 label first, then one column a feature, with a header
    .parquet, .arrow     likewise, in `arrow_files`
    .npz                 the arrays of a CSR matrix, or X, and y; held in memory on the way
    blocks               the block file itself, copied
    anything else        LIBSVM text: label, then index:value for what is not zero, indices from 1

Text is compressed where the name ends in .gz, .bz2, .xz or .zst. Rows without labels have no such column and no y, and
the label 0 in LIBSVM text, which needs one. Numbers are written as short as they can be read back to the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import IO, Any, BinaryIO

import numpy as np
from scipy import sparse

from maxmargin._types import Rows, Vector
from maxmargin.data.formats.compressed import compressing
from maxmargin.data.source import Block
from maxmargin.errors import DataError, unknown_name

_NO_WORD = re.compile(r"^$|[\s:#]")
TEXTS = ("libsvm", "csv")
WRITTEN = (*TEXTS, "parquet", "arrow", "numpy", "blocks")


def write_rows(source: Any, file: BinaryIO, kind: str, ending: str = "") -> None:
    """Write all rows of a source to an open file, text compressed as the ending of its name says."""
    if kind in TEXTS:
        with compressing(file, ending) as text:
            _write_text(text, _csv_lines(source) if kind == "csv" else _libsvm_lines(source))
    elif kind in ("parquet", "arrow"):
        from maxmargin.data.formats.arrow_files import write_table

        _refuse_weights(source.weight)
        write_table(source, file, parquet=kind == "parquet")
    elif kind == "numpy":
        _write_arrays(file, source)
    elif kind == "blocks":
        source.write_blocks(file)
    else:
        raise unknown_name("format", kind, WRITTEN)


def _libsvm_lines(source: Any) -> Iterator[str]:
    return (line for block in _blocks(source) for line in libsvm_lines(block, source.has_labels))


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


def libsvm_lines(block: Block, has_labels: bool) -> Iterator[str]:
    """One line a row."""
    X = sparse.csr_matrix(block.X)
    values, columns, starts = _shortest(X.data), (X.indices + 1).tolist(), X.indptr.tolist()
    for i, label in enumerate(_labels(block, has_labels)):
        first, last = starts[i], starts[i + 1]
        pairs = [
            f"{column}:{value}"
            for column, value in zip(columns[first:last], values[first:last], strict=True)
            if value != "0"
        ]
        yield " ".join([_libsvm_word(label), *pairs])


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


def _write_text(file: IO[bytes], lines: Iterable[str]) -> None:
    for line in lines:
        file.write(line.encode())
        file.write(b"\n")


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
    digits = 9 if values.dtype == np.float32 else 17
    return [_digits(value, digits) for value in values.tolist()]


def _digits(value: float, most: int) -> str:
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.{most}g}" if most < 17 else repr(value)


def _word(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() and abs(label) < 1e15 else str(label)


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
