"""What is wrong with a line of LIBSVM text, in words: slow and exact, for the one line that the quick loop refused."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from maxmargin.data.text_labels import NUMBER

_LARGEST = int(np.iinfo(np.int32).max)
_GROUP = re.compile(rb"qid:-?\d+")


def problem_of_line(line: bytes, zero_based: bool | None, n_features: int | None, dtype: np.dtype[Any]) -> str:
    """The first problem of a line, what is allowed, and what to do; `zero_based` is None where both are allowed."""
    if b"\0" in line:
        return "found a NUL byte; the file is binary, or damaged. Copy it again, or name its format with format=."
    content = line.partition(b"#")[0].rstrip(b"\n")
    content = content.removesuffix(b"\r")
    if b"\r" in content:
        return "found a carriage return within the line; lines must end in LF or CRLF. Convert the line ends."
    words = re.split(rb"[ \t]+", content.strip(b" \t"))  # split() would take other control bytes for spaces, too
    label, entries = words[0], words[1:]
    if b":" in label:
        return f"the first word is {_show(label)}, where the label should be. Lines read `label index:value ...`."
    if label.lstrip(b"+-").lower() in (b"nan", b"inf", b"infinity"):
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
    last = (_LARGEST if n_features is None else n_features) - (1 if zero_based else 0)
    if column > last:
        if n_features is None:
            return f"the largest index that can be used is {last:,}. Number or hash the features into fewer columns."
        return f"with n_features={n_features} the largest index is {last}. Pass a larger n_features, or leave it out."
    if column == previous:
        return "the same index stands twice in the row. Leave one of them out."
    if column < previous:
        return f"index {column} follows {previous}; indices must increase. `maxmargin convert --sort` repairs the file."
    if value.lstrip(b"+-").lower() in (b"nan", b"inf", b"infinity"):
        return "values must be finite. Leave the entry out, or the row."
    if not value:
        return "no value stands behind the colon. Was a space put there?"
    if b":" in value:
        return "an entry has one colon, between index and value. Was a space lost?"
    if NUMBER.fullmatch(value.replace(b",", b".")) is not None and b"," in value:
        return "the decimal sign must be a point, as in 0.5."
    if NUMBER.fullmatch(value) is None:
        return "the value must be a decimal number such as 0.5 or -3e-7."
    with np.errstate(over="ignore"):
        if not math.isfinite(dtype.type(float(value))):
            wider = '; dtype="float64" holds more' if math.isfinite(float(value)) else ""
            return f"the value is beyond {dtype}{wider}. Scale the feature."
    return None


def _show(word: bytes) -> str:
    text = word.decode(errors="backslashreplace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
