"""Lines of LIBSVM text one by one, slow and exact: what is wrong with one that the quick loop refused, and repairs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.formats.compressed import ByteStream
from maxmargin.data.formats.text_file import LONE_RETURN, NOT_FINITE, NUMBER, beyond
from maxmargin.errors import DataError

LARGEST = int(np.iinfo(np.int32).max)
"""Columns there may be."""
_GROUP = re.compile(rb"qid:-?\d+")


def problem_of_line(line: bytes, zero_based: bool | None, n_features: int | None, dtype: np.dtype[Any]) -> str:
    """The first problem of a line, what is allowed, and what to do; `zero_based` is None where both are allowed."""
    content = line.partition(b"#")[0].rstrip(b"\n").removesuffix(b"\r")
    if b"\r" in content:
        return LONE_RETURN
    words = re.split(rb"[ \t]+", content.strip(b" \t"))  # split() would take other control bytes for spaces, too
    label, entries = words[0], words[1:]
    if b":" in label:
        return f"the first word is {_show(label)}, where the label should be. Lines read `label index:value ...`."
    if label.lstrip(b"+-").lower() in NOT_FINITE:
        return f"the label is {_show(label)}; a label must be a finite number or a word. Leave the row out."
    if entries and _GROUP.fullmatch(entries[0]):
        entries = entries[1:]
    previous = -1
    for entry in entries:
        problem = _problem_of_entry(entry, previous, zero_based, n_features, dtype)
        if problem is not None:
            return f"found {_show(entry)}; {problem}"
        previous = int(entry.partition(b":")[0])
    return f"cannot read {_show(content)}. Lines read `label index:value ...`, separated by spaces or tabs."


def _problem_of_entry(
    entry: bytes, previous: int, zero_based: bool | None, n_features: int | None, dtype: np.dtype[Any]
) -> str | None:
    index, colon, value = entry.partition(b":")
    if not colon:
        return "an entry must read index:value. Was a space or a colon lost?"
    if index == b"qid":
        return "a group must read qid:number, and may stand only right behind the label."
    if not index:
        return "no index stands in front of the colon. Was a space put there?"
    if re.fullmatch(rb"\d+", index) is None:
        return "an index must be a whole number of digits only, 1 or more (0 or more where columns count from 0)."
    column = int(index)
    if column == 0 and zero_based is False:
        return "with zero_based=False indices begin at 1. Pass zero_based=True if columns count from 0."
    last = (LARGEST if n_features is None else n_features) - (1 if zero_based else 0)
    if column > last:
        if n_features is None:
            return f"the largest index that can be used is {last:,}. Number or hash the features into fewer columns."
        return f"with n_features={n_features} the largest index is {last}. Pass a larger n_features, or leave it out."
    if column == previous:
        return "the same index stands twice in the row. Leave one of them out."
    if column < previous:
        return f"index {column} follows {previous}; indices must increase. `maxmargin convert --sort` repairs the file."
    if value.lstrip(b"+-").lower() in NOT_FINITE:
        return "values must be finite. Leave the entry out, or the row."
    if not value:
        return "no value stands behind the colon. Was a space put there?"
    if b":" in value:
        return "an entry has one colon, between index and value. Was a space lost?"
    if NUMBER.fullmatch(value.replace(b",", b".")) is not None and b"," in value:
        return "the decimal sign must be a point, as in 0.5."
    if NUMBER.fullmatch(value) is None:
        return "the value must be a decimal number such as 0.5 or -3e-7."
    too_large = beyond(value, dtype)
    return None if too_large is None else f"the value {too_large}"


def _show(word: bytes) -> str:
    text = word.decode(errors="backslashreplace")
    return repr(text if len(text) <= 60 else text[:57] + "...")


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
