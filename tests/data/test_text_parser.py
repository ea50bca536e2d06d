"""Text is read exactly as it is written, and what cannot be read is named by file, line and word."""

import itertools
import math
import re
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import maxmargin
from maxmargin._loops.text.numbers import NOT_A_NUMBER, NUMBER, SLOW_NUMBER, scan_number
from maxmargin.data.formats.csv_text import CsvInput
from maxmargin.data.formats.inputs import Reading
from maxmargin.data.formats.libsvm_text import LibsvmInput
from maxmargin.data.labels import MOST_LABELS
from maxmargin.errors import DataError


def scanned(text):
    return scan_number(np.frombuffer(text.encode() + b"\n", dtype=np.uint8), 0)


def assert_nearest_double(text):
    value, end, kind = scanned(text)
    assert end == len(text)
    assert kind in (NUMBER, SLOW_NUMBER)
    if kind == NUMBER:  # the bits, so that the sign of zero counts
        assert struct.pack("d", value) == struct.pack("d", float(text))
    return kind


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_is_read_back_from_its_shortest_text(x):
    kind = assert_nearest_double(repr(x))
    assert kind == NUMBER or abs(x) < 2.3e-308  # the smallest ones are left to exact arithmetic


@given(st.integers(0, 10**25), st.integers(-400, 400))
def test_any_digits_and_exponent_round_to_the_nearest_double(digits, exponent):
    assert_nearest_double(f"{digits}e{exponent}")
    assert_nearest_double(f"-0.00{digits}E{exponent:+d}")


@given(st.integers(2**52, 2**53 - 1), st.integers(-60, 60))
def test_half_way_between_two_doubles_the_even_one_is_read(m, power):
    numerator, denominator = (2 * m + 1) * 2 ** max(power, 0), 2 ** max(-power, 0)
    digits = str(numerator * 5 ** max(-power, 0))
    assert_nearest_double(f"{digits}e{-max(-power, 0)}")
    assert float(f"{digits}e{-max(-power, 0)}") == numerator / denominator


def test_seventeen_digits_are_read_without_the_slow_way(rng):
    for x in rng.normal(size=2000) * 10.0 ** rng.integers(-200, 200, size=2000):
        assert assert_nearest_double(f"{x:.16e}") == NUMBER


@pytest.mark.parametrize("text", ["", "+", "-", ".", "e5", "1e", "1e+", "nan", "inf", "-.e1", "x", "--1", "+-1"])
def test_what_has_no_digits_is_not_a_number(text):
    assert scanned(text)[2] == NOT_A_NUMBER


@pytest.mark.parametrize(
    "text", ["1", "+1", "01", "1.", ".5", "-0", "0e999", "1E3", "1e-400", "0.1e1", "00000000000000000000001.5"]
)
def test_unusual_but_right_numbers_are_numbers(text):
    assert_nearest_double(text)


# What stands in the file, and the rows that it holds: label, then columns from 0 with their values.
GOOD = {
    "plain": (b"1 1:0.5 3:2\n-1 2:1\n", [(1, {0: 0.5, 2: 2}), (-1, {1: 1})]),
    "CRLF": (b"1 1:0.5\r\n-1 2:1\r\n", [(1, {0: 0.5}), (-1, {1: 1})]),
    "no newline at the end": (b"1 1:0.5\n-1 2:1", [(1, {0: 0.5}), (-1, {1: 1})]),
    "CR at the end of the file": (b"1 1:0.5\r\n-1 2:1\r", [(1, {0: 0.5}), (-1, {1: 1})]),
    "byte order mark": (b"\xef\xbb\xbf1 1:0.5\n-1 2:1\n", [(1, {0: 0.5}), (-1, {1: 1})]),
    "label only": (b"1\n-1 1:3\n", [(1, {}), (-1, {0: 3})]),
    "blank lines": (b"\n\n1 1:0.5\n\n \t\n-1 2:1\n\r\n\n", [(1, {0: 0.5}), (-1, {1: 1})]),
    "tabs": (b"1\t1:0.5\t3:2\n-1\t2:1\n", [(1, {0: 0.5, 2: 2}), (-1, {1: 1})]),
    "spaces all over": (b"  1   1:0.5  \t 3:2  \n -1 2:1 \r\n", [(1, {0: 0.5, 2: 2}), (-1, {1: 1})]),
    "comments": (b"# 3 4:5\n1 1:0.5 # 2:7\n-1 2:1#no\n   #\n", [(1, {0: 0.5}), (-1, {1: 1})]),
    "non-ASCII comment": ("1 1:0.5 # naïve\n-1 2:1\n".encode(), [(1, {0: 0.5}), (-1, {1: 1})]),
    "groups": (b"1 qid:4 1:0.5\n-1 qid:12 2:1\n2 qid:7\n", [(1, {0: 0.5}), (-1, {1: 1}), (2, {})]),
    "index 0": (b"1 1:0.5\n-1 0:1\n", [(1, {1: 0.5}), (-1, {0: 1})]),
    "stored zeros": (b"1 1:0 2:-0\n-1 2:1\n", [(1, {0: 0, 1: 0}), (-1, {1: 1})]),
    "signs and exponents": (b"+1 1:+5e-1 2:-3E2\n-1 2:.5\n", [(1, {0: 0.5, 1: -300}), (-1, {1: 0.5})]),
    "leading zeros": (b"01 001:0.5\n-1 2:1\n", [(1, {0: 0.5}), (-1, {1: 1})]),
    "underflow": (b"1 1:1e-400 2:1\n-1 2:1\n", [(1, {0: 0, 1: 1}), (-1, {1: 1})]),
    "one row": (b"7 2:1\n", [(7, {1: 1})]),
    "words": (b"spam 1:2\nham 2:1\n", [("spam", {0: 2}), ("ham", {1: 1})]),
    "non-ASCII words": ("grün 1:2\nblå 2:1\n".encode(), [("grün", {0: 2}), ("blå", {1: 1})]),
    "numbers and words": (b"1 1:2\nother 2:1\n", [("1", {0: 2}), ("other", {1: 1})]),
    "several labels": (b"1,3 1:2\n2 2:1\n", [("1,3", {0: 2}), ("2", {1: 1})]),
    "one label in three spellings": (b"1 1:2\n+1 1:3\n1.0 1:4\n", [(1, {0: 2}), (1, {0: 3}), (1, {0: 4})]),
}

# What stands in the second line, and what is said about it.
BAD = {
    "missing colon": (b"1 1:2 3", "found '3'; an entry must read index:value"),
    "missing value": (b"1 1:2 3:", "found '3:'; no value stands behind the colon"),
    "missing index": (b"1 :2", "found ':2'; no index stands in front of the colon"),
    "missing label": (b"1:2 3:4", "the first word is '1:2', where the label should be"),
    "space before the colon": (b"1 1 :2", "found '1'; an entry must read index:value"),
    "space behind the colon": (b"1 1: 2", "found '1:'; no value stands behind the colon. Was a space put there?"),
    "two colons": (b"1 1:2:3", "found '1:2:3'; an entry has one colon"),
    "decreasing index": (b"1 3:1 2:1", "found '2:1'; index 2 follows 3; indices must increase"),
    "repeated index": (b"1 3:1 3:1", "found '3:1'; the same index stands twice"),
    "negative index": (b"1 -3:1", "found '-3:1'; an index must be a whole number"),
    "signed index": (b"1 +3:1", "found '+3:1'; an index must be a whole number"),
    "float index": (b"1 3.5:1", "found '3.5:1'; an index must be a whole number"),
    "index in hex": (b"1 0x3:1", "found '0x3:1'; an index must be a whole number"),
    "word as index": (b"1 age:1", "found 'age:1'; an index must be a whole number"),
    "index beyond 2^31": (b"1 4294967296:1", "found '4294967296:1'; the largest index that can be used is"),
    "index beyond 2^64": (b"1 99999999999999999999999:1", "the largest index that can be used is 2,147,483,647"),
    "nan": (b"1 1:nan", "found '1:nan'; values must be finite"),
    "inf": (b"1 1:-Inf", "found '1:-Inf'; values must be finite"),
    "infinity": (b"1 1:INFINITY", "found '1:INFINITY'; values must be finite"),
    "beyond double": (b"1 1:1e400", "found '1:1e400'; the value is beyond float32. Scale"),
    "beyond double, many digits": (b"1 1:" + b"9" * 400, "the value is beyond float32. Scale"),
    "beyond single": (b"1 1:1e39", "found '1:1e39'; the value is beyond float32; dtype=\"float64\" holds more"),
    "value in hex": (b"1 1:0x1p3", "found '1:0x1p3'; the value must be a decimal number"),
    "underscore digits": (b"1 1:1_000", "found '1:1_000'; the value must be a decimal number"),
    "decimal comma": (b"1 1:0,5", "found '1:0,5'; the decimal sign must be a point"),
    "half an exponent": (b"1 1:1e", "found '1:1e'; the value must be a decimal number"),
    "word as value": (b"1 1:abc", "found '1:abc'; the value must be a decimal number"),
    "two points": (b"1 1:1.2.3", "found '1:1.2.3'; the value must be a decimal number"),
    "non-ASCII value": ("1 1:½".encode(), "found '1:½'; the value must be a decimal number"),
    "NUL byte": (b"1 1:\x002", "found a NUL byte"),
    "NUL bytes for a label": (b"\x00\x00 1:2", "found a NUL byte"),
    "lone CR": (b"1 1:2\r-1 2:1", "found a carriage return within the line"),
    "form feed": (b"1 1:2\x0c2:1", "found '1:2\\x0c2:1'; an entry has one colon"),
    "form feed alone": (b"\x0c", "cannot read '\\x0c'"),
    "form feed behind the label": (b"1\x0c1:2", "the first word is '1\\x0c1:2', where the label should be"),
    "late group": (b"1 1:2 qid:3", "found 'qid:3'; a group must read qid:number, and may stand only right behind"),
    "bad group": (b"1 qid:x 1:2", "found 'qid:x'; a group must read qid:number"),
    "nan as label": (b"nan 1:2", "the label is 'nan'; a label must be a finite number or a word"),
    "inf as label": (b"-INF 1:2", "the label is '-INF'; a label must be a finite number or a word"),
    "label beyond double": (b"1e400 1:2", "the label 1e400 is beyond double precision"),
    "label not UTF-8": (b"\xff\xfe\xfa 1:2", "is not UTF-8"),
}


def rows_of(source):
    found = []
    for block in source:
        for i in range(len(block.y)):
            row = block.X[i]
            entries = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
            found.append((block.y[i], entries))
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("memory", [1, 60, "1MB"])
@pytest.mark.parametrize("case", GOOD)
def test_what_the_format_allows_is_read_as_it_is_meant(case, memory, dtype, tmp_path):
    text, rows = GOOD[case]
    path = tmp_path / "rows.txt"
    path.write_bytes(text)
    with maxmargin.open(path, memory=memory, dtype=dtype) as source:
        assert rows_of(source) == rows
        assert source.n_rows == len(source) == len(rows)
        assert source.n_features == max((max(entries, default=-1) for _, entries in rows), default=-1) + 1
        assert source.y.tolist() == [label for label, _ in rows]
        assert source.classes.tolist() == sorted({label for label, _ in rows})
        assert source.skipped == ()


@pytest.mark.parametrize("case", BAD)
def test_a_malformed_line_is_named_with_what_was_found(case, tmp_path):
    line, message = BAD[case]
    path = tmp_path / "rows.txt"
    path.write_bytes(b"1 1:2 2:3\n" + line + b"\n-1 1:4\n")
    with maxmargin.open(path) as source, pytest.raises(DataError, match=r"rows\.txt, line 2: ") as caught:
        source.n_rows  # noqa: B018 - the question starts the first pass
    assert message in str(caught.value)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("case", BAD)
def test_a_malformed_line_is_left_out_and_listed_where_that_was_asked_for(case, n_jobs, tmp_path):
    line, message = BAD[case]
    path = tmp_path / "rows.txt"
    path.write_bytes(b"1 1:2 2:3\n" + line + b"\n-1 1:4\n" + line + b"\n")
    with maxmargin.open(path, skip_bad_rows=2, n_jobs=n_jobs) as source:
        assert rows_of(source) == [(1, {0: 2, 1: 3}), (-1, {0: 4})]
        assert len(source.skipped) == 2
        assert ", line 2: " in source.skipped[0]
        assert ", line 4: " in source.skipped[1]
        assert all(message in said for said in source.skipped)
    with maxmargin.open(path, skip_bad_rows=1, n_jobs=n_jobs) as source, pytest.raises(DataError, match="line 4"):
        source.n_rows  # noqa: B018 - likewise


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# nothing\n", b"\xef\xbb\xbf"])
def test_a_file_without_rows_is_refused(text, tmp_path):
    path = tmp_path / "empty.txt"
    path.write_bytes(text)
    with maxmargin.open(path) as source, pytest.raises(DataError, match=r"empty\.txt: there are no rows"):
        source.n_rows  # noqa: B018 - likewise


def test_a_file_without_line_ends_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.data.formats.file_bytes.LONGEST_LINE", 10_000)
    path = tmp_path / "rows.txt"
    path.write_bytes(b"1 1:2\n" + b"x" * 50_000)
    given_rows = LibsvmInput([path], Reading(np.dtype(np.float32), n_jobs=1), 100)
    with pytest.raises(DataError, match=r"rows\.txt: no end of a line within 10,000 bytes"):
        list(given_rows.batches())


def test_utf_16_is_refused_by_name(tmp_path):
    path = tmp_path / "wide.txt"
    path.write_bytes("1 1:2\n".encode("utf-16"))
    with maxmargin.open(path) as source, pytest.raises(DataError, match=r"wide\.txt: the text is UTF-16"):
        source.n_rows  # noqa: B018 - likewise


def test_columns_outside_what_was_said_are_refused(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(b"1 1:2\n-1 5:1\n")
    with maxmargin.open(path, n_features=4) as source, pytest.raises(DataError, match=r"line 2: .*'5:1'.*n_features=4"):
        source.n_rows  # noqa: B018 - likewise
    path.write_bytes(b"1 1:2\n-1 0:1\n")
    with (
        maxmargin.open(path, zero_based=False) as source,
        pytest.raises(DataError, match=r"line 2: .*zero_based=False"),
    ):
        source.n_rows  # noqa: B018 - likewise
    with maxmargin.open(path, zero_based=True, n_features=4) as source:
        assert rows_of(source) == [(1, {1: 2}), (-1, {0: 1})]
        assert source.n_features == 4


NUMBER_WORD = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
GRAMMAR = re.compile(
    rb"[ \t]*(?:(?P<label>[^\x00-\x20#:]+)(?:[ \t]+qid:-?[0-9]+)?(?P<entries>(?:[ \t]+[0-9]{1,10}:NUMBER)*)[ \t]*)?"
    rb"(?:#.*|\r)?".replace(b"NUMBER", NUMBER_WORD),
    re.DOTALL,
)


def read_slowly(line):
    """Whether a line is well-formed, and its row as (label, entries), or None where it holds none."""
    match = GRAMMAR.fullmatch(line)
    if match is None:
        return False, None
    if match["label"] is None:
        return True, None
    if re.fullmatch(rb"[+-]?(nan|inf|infinity)", match["label"], re.IGNORECASE):
        return False, None
    words = [word.split(b":") for word in match["entries"].split()]
    columns, values = [int(index) for index, _ in words], [float(value) for _, value in words]
    with np.errstate(over="ignore"):
        fits = np.isfinite(np.array(values, dtype=np.float32)).all()
    increase = all(a < b for a, b in itertools.pairwise(columns))
    return bool(fits and increase and max(columns, default=0) < 2**31), (
        match["label"],
        list(zip(columns, values, strict=True)),
    )


FRAGMENTS = [
    b"1",
    b"-1",
    b"0",
    b"7",
    b"12",
    b":",
    b"1:2",
    b"2:0.5",
    b"3:-1e-3",
    b"9:1e39",
    b"4:1e400",
    b"5:nan",
    b"6:.",
]
FRAGMENTS += [
    b"qid:3",
    b"qid:",
    b"nan",
    b"inf",
    b"+Infinity",
    b"word",
    b"\xc3\xa9",
    b"\0",
    b"\r",
    b"\x1a",
    b"#",
    b"e",
    b".",
]
FRAGMENTS += [b" "] * 12 + [
    b"\t",
    b"  ",
    b"99999999999:1",
    b"4294967296:1",
    b"2147483647:1",
    b"1" * 25,
    b"8:1." + b"3" * 40,
]


@settings(max_examples=300)
@given(st.lists(st.lists(st.sampled_from(FRAGMENTS), max_size=8), min_size=1, max_size=12), st.integers(1, 3))
@pytest.mark.slow
def test_a_line_is_read_exactly_when_the_grammar_allows_it(lines, threads):
    """The loop against a regular expression, on lines put together at random."""
    lines = [b"".join(line) for line in lines]
    expected = [read_slowly(line) for line in lines]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        path.write_bytes(b"\n".join([b"start 1:1", *lines]))
        given_rows = LibsvmInput([path], Reading(np.dtype(np.float32), skip_bad_rows=len(lines), n_jobs=threads), 40)
        found = []
        for batch in given_rows.batches():
            for i, code in enumerate(batch.labels.tolist()):
                span = slice(batch.starts[i], batch.starts[i + 1])
                entries = list(zip((batch.columns[span] + 1).tolist(), batch.values[span].tolist(), strict=True))
                found.append((given_rows.label_table().values[code], entries))
        skipped = given_rows.skipped
    assert found[1:] == [
        (row[0].decode(), [(column, float(np.float32(value))) for column, value in row[1]])
        for fine, row in expected
        if fine and row is not None
    ]
    bad = [number + 2 for number, (fine, _) in enumerate(expected) if not fine]
    assert [int(re.search(r", line (\d+): ", said)[1]) for said in skipped] == bad


@settings(max_examples=60)
@given(st.data())
def test_written_rows_are_read_back_whatever_the_pieces(data):
    """Pieces of a few bytes cut the text everywhere; a long line makes the buffer grow."""
    number = st.floats(-1e30, 1e30, allow_nan=False)
    rows = data.draw(st.lists(st.dictionaries(st.integers(1, 10**6), number, max_size=6), min_size=1, max_size=12))
    text = "".join(f"{i % 3} " + " ".join(f"{j}:{row[j]!r}" for j in sorted(row)) + "\n" for i, row in enumerate(rows))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        path.write_text(text)
        piece = data.draw(st.integers(1, 100))
        how = Reading(np.dtype(np.float64), zero_based=False, n_jobs=data.draw(st.integers(1, 3)))
        given_rows = LibsvmInput([path], how, piece)
        found, labels = [], []
        for batch in given_rows.batches():
            for i in range(len(batch.labels)):
                span = slice(batch.starts[i], batch.starts[i + 1])
                found.append(dict(zip((batch.columns[span] + 1).tolist(), batch.values[span].tolist(), strict=True)))
            labels.extend(batch.labels.tolist())
    assert found == rows
    assert [given_rows.label_table().values[code] for code in labels] == [i % 3 for i in range(len(rows))]


CSV_GOOD = {
    "header": (b"a,b,y\n1,2,up\n3,4,down\n", "y"),
    "no header": (b"1,2,up\n3,4,down\n", -1),
    "quoted": (b'"a","b","y"\n"1","2","up"\n"3", "4" ,"down"\n', "y"),
    "CRLF": (b"a,b,y\r\n1,2,up\r\n3,4,down\r\n", "y"),
    "semicolons": (b"a;b;y\n1;2;up\n3;4;down\n", "y"),
    "tabs": (b"a\tb\ty\n1\t2\tup\n3\t4\tdown\n", "y"),
    "label first": (b"y,a,b\nup,1,2\ndown,3,4\n", 0),
    "label between": (b"a,y,b\n1,up,2\n3,down,4\n", "y"),
    "blank lines": (b"\n\na,b,y\n\n1,2,up\n\r\n3,4,down\n\n", "y"),
    "no newline at the end": (b"a,b,y\n1,2,up\n3,4,down", "y"),
    "byte order mark": (b"\xef\xbb\xbfa,b,y\n1,2,up\n3,4,down\n", "y"),
    "spaces": (b"a, b, y\n 1 , 2 , up \n3,4,down\n", "y"),
}


@pytest.mark.parametrize("memory", [1, "1MB"])
@pytest.mark.parametrize("case", CSV_GOOD)
def test_csv_of_every_dialect_holds_the_same_rows(case, memory, tmp_path):
    text, label = CSV_GOOD[case]
    path = tmp_path / "table.csv"
    path.write_bytes(text)
    with maxmargin.open(path, label=label, memory=memory) as source:
        assert_array_equal(np.concatenate([block.X for block in source]), [[1, 2], [3, 4]])
        assert source.y.tolist() == ["up", "down"]


def test_a_quoted_label_may_hold_separators_line_breaks_and_quotes(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b'a,y\n1,"one, or\ntwo"\n2,"so ""called"""\n3,x\n4,"bad\nq"9\n')
    with maxmargin.open(path, label="y", skip_bad_rows=9) as source:
        assert source.y.tolist() == ["one, or\ntwo", 'so "called"', "x"]
        assert ", line 6: " in source.skipped[0]  # the line breaks within quotes were counted


CSV_BAD = {
    "too few cells": (b"1,up", "found 2 cells, expected 3"),
    "too many cells": (b"1,2,up,4", "found 4 cells, expected 3"),
    "empty cell": (b"1,,up", "column 'b' is empty"),
    "empty label": (b"1,2,", "column 'y' is empty"),
    "word as number": (b"1,high,up", "column 'b' has 'high', which is not a finite decimal number"),
    "nan": (b"nan,2,up", "column 'a' has 'nan'; values must be finite numbers. Fill it in"),
    "beyond single": (b"1,1e39,up", "column 'b' has '1e39', which is beyond float32; dtype"),
    "beyond double": (b"1,1e400,up", "column 'b' has '1e400', which is beyond float32. Scale"),
    "hex": (b"0x10,2,up", "column 'a' has '0x10'"),
    "underscore digits": (b"1_0,2,up", "column 'a' has '1_0'"),
    "NUL byte": (b"1,2\x00,up", "found a NUL byte"),
    "lone CR": (b"1,2,up\r3,4,down", "found a carriage return"),
    "line break in a number": (b'"1\n",2,up', "a quote is opened and not closed"),
    "open quote": (b'1,2,"up', "a quote is opened and not closed"),
    "label not UTF-8": (b"1,2,\xff\xfe", "is not UTF-8"),
    "label beyond double": (b"1,2,1e400", "the label 1e400 is beyond double precision"),
    "quote within a cell": (b'1,2,u"p"', "Quotes may stand only around a whole cell"),
}


# A quote that is not closed may go on through the lines behind it, and each is told.
SWALLOWING = ("line break in a number", "open quote")


@pytest.mark.parametrize("case", CSV_BAD)
def test_a_malformed_record_is_named_with_its_column(case, tmp_path):
    line, message = CSV_BAD[case]
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b,y\n1,2,up\n" + line + b"\n3,4,down\n")
    with maxmargin.open(path, label="y") as source, pytest.raises(DataError, match=r"table\.csv, line 3: ") as caught:
        source.n_rows  # noqa: B018 - the question starts the first pass
    assert message in str(caught.value)


@pytest.mark.parametrize("case", CSV_BAD)
def test_a_malformed_record_is_left_out_and_listed_where_that_was_asked_for(case, tmp_path):
    line, message = CSV_BAD[case]
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b,y\n1,2,up\n" + line + b"\n3,4,down\n")
    with maxmargin.open(path, label="y", skip_bad_rows=5) as source:
        assert source.block(0).X[0].tolist() == [1, 2]
        assert message in source.skipped[0]
        assert ", line 3: " in source.skipped[0]
        if case not in SWALLOWING:
            assert source.block(0).X.tolist() == [[1, 2], [3, 4]]
            assert source.y.tolist() == ["up", "down"]
            assert len(source.skipped) == 1


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.floats(-1e30, 1e30)] * 3), min_size=1, max_size=30), st.integers(8, 200))
def test_a_table_of_doubles_is_read_back_whatever_the_pieces(rows, piece):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text("".join(f"{a!r},{i % 2},{b!r},{c!r}\n" for i, (a, b, c) in enumerate(rows)))
        table = CsvInput([path], Reading(np.dtype(np.float64), label=1), piece)
        found = np.concatenate([batch.values.copy() for batch in table.batches()])
    assert found.tobytes() == np.array(rows).tobytes()


@pytest.mark.slow
def test_more_numbers_than_classes_become_a_target(tmp_path, rng):
    """Labels past the limit are kept as numbers; the early ones keep their codes, and all come back exactly."""
    y = rng.normal(size=MOST_LABELS + 5000)
    path = tmp_path / "rows"
    entries = ["", " 1:5", " 2:6 7:1", " 3:7"]  # rows of several lengths
    path.write_text("".join(f"{label!r}{entries[i % 4]}\n" for i, label in enumerate(y.tolist())))
    with maxmargin.open(path, memory="100KB") as source:
        found = sparse.vstack([block.X for block in source], format="csr")
        four = [[0, 0, 0, 0], [5, 0, 0, 0], [0, 6, 0, 1], [0, 0, 7, 0]]
        assert_array_equal(found[:, [0, 1, 2, 6]].toarray(), np.resize(four, (len(y), 4)))
        assert found.nnz == np.count_nonzero(np.resize(four, (len(y), 4)))
        assert_array_equal(source.y, y)
        assert_array_equal(np.concatenate([block.y for block in source]), y)
        with pytest.raises(DataError, match="different labels, too many for classes"):
            source.codes  # noqa: B018 - it raises
        fingerprint = source.fingerprint()
    with maxmargin.open(path, memory="100KB", n_jobs=3) as source:  # other pieces, the same blocks
        assert source.fingerprint() == fingerprint


def test_more_words_than_classes_are_refused(tmp_path):
    path = tmp_path / "rows"
    path.write_text("".join(f"w{i}\n" for i in range(MOST_LABELS + 1)))
    with maxmargin.open(path) as source, pytest.raises(DataError, match="line 65537: this is label number 65,537"):
        source.n_rows  # noqa: B018 - the question starts the first pass


def test_values_are_rounded_to_single_from_double(tmp_path):
    """A number next to the middle between two floats, where rounding the text at once would give the other one."""
    middle = (np.float64(np.float32(1.0)) + np.float64(np.nextafter(np.float32(1.0), np.float32(2.0)))) / 2
    text = f"{middle:.25f}"[:-1] + "9" * 30
    path = tmp_path / "rows"
    path.write_text(f"1 1:{text}\n")
    with maxmargin.open(path) as source:
        value = source.block(0).X.data[0]
    assert value == np.float32(np.float64(float(text)))
    assert math.isclose(float(value), 1.0, rel_tol=1e-6)


def test_text_is_read_as_scikit_learn_reads_it(shared_data):
    for name in ("heart_scale.bz2", "rcv1-small.t.bz2", "splice.bz2", "svmguide1.bz2"):
        X, y = load_svmlight_file(str(shared_data / name))
        with maxmargin.open(shared_data / name, dtype="float64", memory="100KB") as source:
            assert source.n_blocks > 1 or X.nnz < 8000
            read = sparse.vstack([block.X for block in source]).tocsr()
            assert read.shape == X.shape
            assert_array_equal(read.data, X.data)
            assert_array_equal(read.indices, X.indices)
            assert_array_equal(read.indptr, X.indptr)
            assert_array_equal(source.y, y)
            assert_array_equal(source.classes[source.codes], y)
