"""LIBSVM text, plain or compressed, as batches of CSR rows.

Whether columns count from 0 or from 1 is known only at the end: from 0 when the index 0 was met anywhere. Until then
they are taken to count from 1, so that the index 0 becomes column -1, and the end says what is to be added.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from maxmargin._loops.text.rows import RowSpace, TextProgress, read_rows
from maxmargin.backends.threads import thread_count
from maxmargin.data.formats.file_bytes import LONE_RETURN, NOT_FINITE, NUMBER, TextFile, beyond
from maxmargin.data.formats.inputs import Reading, RowBatch
from maxmargin.data.formats.text_input import PIECE_BYTES, TextInput
from maxmargin.data.labels import no_codes

_LARGEST = int(np.iinfo(np.int32).max)
_GROUP = re.compile(rb"qid:-?\d+")


class LibsvmInput(TextInput):
    """Rows of LIBSVM files."""

    _least_bytes = 3

    def __init__(self, paths: Sequence[Path], how: Reading, piece_bytes: int = PIECE_BYTES):
        settings = f"libsvm {how.dtype} {how.n_features} {how.zero_based} {how.skip_bad_rows}"
        super().__init__(paths, how, settings, True, thread_count(how.n_jobs), piece_bytes)

    def _begin(self, file: TextFile, lines: int) -> tuple[int, int]:
        return 0, lines

    def _read(self, file: TextFile, end: int, done: TextProgress, space: RowSpace) -> tuple[TextProgress, int]:
        base, least = 0 if self.how.zero_based else 1, -1 if self.how.zero_based is None else 0
        return read_rows(file.text, end, base, least, self.how.n_features or _LARGEST, done, space)

    def _batch(self, space: RowSpace, done: TextProgress) -> RowBatch:
        columns = space.columns[: done.entries]
        if self.how.zero_based is None and done.entries:
            self.column_shift = max(self.column_shift, -int(columns.min()))
        return RowBatch(space.values[: done.entries], columns, space.starts[: done.rows + 1], no_codes(done.rows))

    def _problem(self, line: bytes) -> str:
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
            problem = _problem_of_entry(entry, previous, self.how)
            if problem is not None:
                return f"found {_show(entry)}; {problem}"
            previous = int(entry.partition(b":")[0])
        return f"cannot read {_show(content)}. Lines read `label index:value ...`, separated by spaces or tabs."


def _problem_of_entry(entry: bytes, previous: int, how: Reading) -> str | None:
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
    if column == 0 and how.zero_based is False:
        return "with zero_based=False indices begin at 1. Pass zero_based=True if columns count from 0."
    n_features = how.n_features
    last = (n_features or _LARGEST) - (1 if how.zero_based else 0)
    if column > last and n_features is None:
        return f"the largest index that can be used is {last:,}. Number or hash the features into fewer columns."
    if column > last:
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
    too_large = beyond(value, how.dtype)
    return None if too_large is None else f"the value {too_large}"


def _show(word: bytes) -> str:
    text = word.decode(errors="backslashreplace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
