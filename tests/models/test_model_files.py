"""A model file gives back the record that was written, or an error that says what is wrong with the file."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from scipy import sparse

from maxmargin.errors import ModelFileError
from maxmargin.models import read_record, write_record

SAMPLE = {
    "estimator": "SVC",
    "params": {"C": math.inf, "kernel": "rbf", "gamma": 0.1, "class_weight": None, "shrinking": True},
    "support_vectors": np.linspace(-1.0, 1.0, 12).reshape(4, 3),
    "rows": sparse.csr_matrix(np.eye(3)),
    "classes": np.array(["malignant", "gutartig"], dtype=object),
    "passes": [1, 2, math.nan],
}


def same(left: Any, right: Any) -> bool:
    """Equality of records: types, dtypes and shapes count, and nan equals nan."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and repr(left.tolist()) == repr(right.tolist())
    if sparse.issparse(left):
        return left.shape == right.shape and all(
            same(getattr(left, part), getattr(right, part)) for part in ("data", "indices", "indptr")
        )
    return repr(left) == repr(right)


def round_trip(record: dict[str, Any], folder: Path) -> dict[str, Any]:
    write_record(record, folder / "round-trip.model")
    return read_record(folder / "round-trip.model")


plain_values = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
plain_dtypes = (
    arrays.boolean_dtypes()
    | arrays.integer_dtypes(endianness="?")
    | arrays.unsigned_integer_dtypes()
    | arrays.floating_dtypes()
    | arrays.complex_number_dtypes()
    | arrays.unicode_string_dtypes(max_len=4)
    | arrays.byte_string_dtypes(max_len=4)
)
plain_arrays = arrays.arrays(plain_dtypes, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
word_arrays = arrays.arrays(object, arrays.array_shapes(max_dims=2, min_side=0, max_side=3), elements=st.text())


@st.composite
def csr_matrices(draw: st.DrawFn) -> Any:
    dense = draw(arrays.arrays(float, arrays.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5)))
    return draw(st.sampled_from([sparse.csr_matrix, sparse.csr_array]))(dense)


records = st.dictionaries(
    st.text() | st.sampled_from(["$array", "$float", "$dict"]),
    st.recursive(
        plain_values | plain_arrays | word_arrays | csr_matrices(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=8,
    ),
    max_size=5,
)


@given(record=records)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.slow
def test_what_is_read_is_what_was_written(tmp_path, record):
    assert same(round_trip(record, tmp_path), record)


@given(record=records)
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_equal_records_give_equal_bytes(tmp_path, record):
    reordered = dict(reversed(record.items()))
    write_record(record, tmp_path / "one")
    write_record(reordered, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_order_of_an_array_in_memory_leaves_no_trace_in_the_file(tmp_path):
    rows = np.arange(6.0).reshape(2, 3)
    write_record({"rows": rows}, tmp_path / "by row")
    write_record({"rows": np.asfortranarray(rows)}, tmp_path / "by column")
    assert (tmp_path / "by row").read_bytes() == (tmp_path / "by column").read_bytes()


def test_numpy_scalars_come_back_as_python_numbers(tmp_path):
    record = {"n": np.int64(3), "x": np.float32(0.5), "flag": np.True_, "word": np.str_("rbf")}
    assert same(round_trip(record, tmp_path), {"n": 3, "x": 0.5, "flag": True, "word": "rbf"})


def test_arrays_that_were_read_can_be_changed(tmp_path):
    rows = round_trip({"rows": np.zeros(3)}, tmp_path)["rows"]
    rows[0] = 1.0
    assert rows.sum() == 1.0


@pytest.mark.parametrize(
    ("record", "where"),
    [
        (
            {"params": {"kernel": len}},
            r"record\['params'\]\['kernel'\] is of type builtin_function_or_method",
        ),
        ({"parts": [1, {"x": (1, 2)}]}, r"record\['parts'\]\[1\]\['x'\] is of type tuple"),
        ({"params": {"kernel": object()}}, r"record\['params'\]\['kernel'\] is of type object"),
        ({"z": 1j}, r"record\['z'\] is of type complex"),
        ({"rows": sparse.coo_matrix(np.eye(2))}, r"record\['rows'\] is of type scipy\.sparse.*coo_matrix"),
        (
            {"y": np.array(["a", 1], dtype=object)},
            r"record\['y'\] is an array of objects with a int at position 1",
        ),
        (
            {"t": np.array(["2020-01-01"], dtype="datetime64[D]")},
            r"record\['t'\] is an array of dtype datetime64",
        ),
        ({"class_weight": {1: 2.0}}, r"record\['class_weight'\] has the key 1 of type int"),
        ([1, 2], "A record must be a dict"),
    ],
    ids=["function", "tuple", "object", "complex", "coo", "mixed objects", "dates", "int key", "list"],
)
def test_a_value_that_cannot_be_stored_is_named(tmp_path, record, where):
    with pytest.raises(ModelFileError, match=where):
        write_record(record, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "model"
    write_record({"weights": np.zeros(3)}, path)
    before = path.read_bytes()
    with pytest.raises(ModelFileError):
        write_record({"a weights": np.ones(1000), "z unwritable": object()}, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "model"
    write_record({"weights": np.zeros(3)}, path)
    before = path.read_bytes()

    def no_space_left(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space_left)
    with pytest.raises(OSError, match="No space left"):
        write_record(SAMPLE, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_directory_is_reported_under_the_name_the_caller_gave(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_record(SAMPLE, tmp_path / "nowhere" / "model")
    assert caught.value.filename == str(tmp_path / "nowhere" / "model")


def test_saving_through_a_symbolic_link_keeps_the_link(tmp_path):
    link = tmp_path / "latest"
    link.symlink_to(tmp_path / "model")
    write_record(SAMPLE, link)
    assert link.is_symlink()
    assert same(read_record(tmp_path / "model"), SAMPLE)


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX")
def test_a_model_file_gets_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "any").touch()
    write_record(SAMPLE, tmp_path / "model")
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == stat.S_IMODE((tmp_path / "any").stat().st_mode)


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "model"
    write_record(SAMPLE, path)
    whole = path.read_bytes()
    for twentieth in range(20):
        path.write_bytes(whole[: len(whole) * twentieth // 20])
        with pytest.raises(ModelFileError, match="model is not a usable model file"):
            read_record(path)


def test_no_flipped_byte_changes_the_record_unnoticed(tmp_path):
    # Zip headers have bytes without meaning, such as the time: a flip there may pass.
    path = tmp_path / "model"
    write_record({"weights": np.array([0.5, -2.0]), "C": 1.0}, path)
    whole = path.read_bytes()
    refused = 0
    for position in range(len(whole)):
        flipped = bytearray(whole)
        flipped[position] ^= 0xFF
        path.write_bytes(flipped)
        try:
            assert same(read_record(path), {"weights": np.array([0.5, -2.0]), "C": 1.0})
        except ModelFileError:
            refused += 1
    assert refused > len(whole) / 2


@pytest.mark.parametrize("word", [b"0.5", b"weights"], ids=["in a number", "in a key"])
def test_a_flipped_byte_in_the_text_is_refused(tmp_path, word):
    path = tmp_path / "model"
    write_record({"weights": 0.5}, path)
    path.write_bytes(path.read_bytes().replace(word, bytes([word[0] ^ 1]) + word[1:]))
    with pytest.raises(ModelFileError, match="damaged"):
        read_record(path)


def test_a_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_record(tmp_path / "nothing")


def test_an_empty_file_and_a_text_file_are_refused(tmp_path):
    path = tmp_path / "model"
    path.write_text("")
    with pytest.raises(ModelFileError, match="it is empty"):
        read_record(path)
    path.write_text("svm_type c_svc\nkernel_type rbf\n")
    with pytest.raises(ModelFileError, match="not a zip archive"):
        read_record(path)


def write_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def as_members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def edited(path: Path, **changes: Any) -> Path:
    """The same file with some entries of its model.json changed."""
    members = as_members(path)
    contents = json.loads(members["model.json"]) | changes
    return write_zip(path, members | {"model.json": json.dumps(contents).encode()})


@pytest.fixture
def sample(tmp_path):
    write_record(SAMPLE, tmp_path / "model")
    return tmp_path / "model"


def test_a_compressed_archive_with_the_same_members_is_read(sample):
    assert same(read_record(write_zip(sample, as_members(sample))), SAMPLE)


def test_a_foreign_zip_is_refused(tmp_path):
    path = write_zip(tmp_path / "model", {"word/document.xml": b"<xml/>"})
    with pytest.raises(ModelFileError, match=r"without model\.json, made by another program"):
        read_record(path)


def test_another_format_name_is_refused(sample):
    with pytest.raises(ModelFileError, match="does not say 'maxmargin model'"):
        read_record(edited(sample, format="minmargin model"))


def test_a_newer_version_asks_for_an_upgrade(sample):
    with pytest.raises(ModelFileError, match=r"format version 2, written by maxmargin 9\.0.*--upgrade maxmargin"):
        read_record(edited(sample, version=2, library="9.0"))


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 0},
        {"version": "1"},
        {"record": []},
        {"record": {"x": {"$array": 99}}},
        {"record": {"x": {"$array": 0}}},
        {"record": {"x": {"$array": "1"}}},
        {"record": {"x": {"$surprise": 1}}},
        {"record": {"x": {"$strings": [1], "shape": [1]}}},
        {"record": {"x": {"$csr": "matrix"}}},
        {"arrays": {}},
    ],
    ids=str,
)
def test_contents_that_make_no_sense_are_refused(sample, changes):
    with pytest.raises(ModelFileError, match="damaged"):
        read_record(edited(sample, **changes))


def test_columns_outside_a_sparse_matrix_are_refused(tmp_path):
    broken = sparse.csr_matrix(np.eye(3))
    broken.indices[0] = 77
    write_record({"rows": broken}, tmp_path / "model")
    with pytest.raises(ModelFileError, match="damaged"):
        read_record(tmp_path / "model")


def test_a_missing_array_is_named(sample):
    members = as_members(sample)
    del members["arrays/0001.npy"]
    with pytest.raises(ModelFileError, match=r"arrays/0001\.npy is missing"):
        read_record(write_zip(sample, members))


def test_an_exchanged_array_is_named(sample):
    members = as_members(sample)
    members["arrays/0001.npy"] = members["arrays/0002.npy"]
    with pytest.raises(ModelFileError, match=r"arrays/0001\.npy in it has been changed"):
        read_record(write_zip(sample, members))


@pytest.mark.parametrize("change", [{"dtype": "<f4"}, {"shape": [7]}], ids=["dtype", "shape"])
def test_an_array_unlike_its_entry_in_the_table_is_named(sample, change):
    table = json.loads(as_members(sample)["model.json"])["arrays"]
    table[0] |= change
    with pytest.raises(ModelFileError, match=r"arrays/0001\.npy in it has dtype and shape"):
        read_record(edited(sample, arrays=table))


class _RunsCode:
    """Unpickling this leaves a mark."""

    ran = False

    def __reduce__(self):
        return (setattr, (_RunsCode, "ran", True))


def test_a_pickled_array_is_refused_and_never_run(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.array([_RunsCode()], dtype=object), allow_pickle=True)
    path = tmp_path / "model"
    write_record({"x": np.zeros(1)}, path)
    members = as_members(path)
    contents = json.loads(members["model.json"])
    sha256 = hashlib.sha256(buffer.getvalue()).hexdigest()
    contents["arrays"][0] |= {"sha256": sha256, "dtype": "|O"}
    write_zip(path, {"arrays/0001.npy": buffer.getvalue(), "model.json": json.dumps(contents).encode()})
    with pytest.raises(ModelFileError, match="nothing is unpickled"):
        read_record(path)
    assert not _RunsCode.ran
