"""A source gives the same rows whatever file, compression, blocks or threads they come through."""

import bz2
import gc
import gzip
import itertools
import lzma
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import maxmargin
from maxmargin import LinearSVC
from maxmargin.data import Source
from maxmargin.errors import DataError, DataTypeError, MissingExtraError, ParameterError
from maxmargin.features import HashedNGrams, KMers, LinearQuadratic, Nystroem, RandomFourier
from maxmargin.kernels import Gaussian

N, D = 300, 7


@pytest.fixture
def table(rng):
    """Rows that single precision holds exactly, with empty rows and repeated ones, and words for labels."""
    X = np.round(rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6), 2).astype(np.float32)
    X[10], X[20:30] = 0.0, X[30:40]
    return X, np.where(X[:, 0] + X[:, 1] > 0, "up", "down")


def zstandard_bytes(data):
    zstandard = pytest.importorskip("zstandard", reason="Zstandard files need the extra `files`")
    return zstandard.ZstdCompressor().compress(data)


COMPRESSORS = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard_bytes}


def libsvm_text(X, y):
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{float(x)!r}" for j, x in enumerate(row) if x)
        for row, label in zip(X, y, strict=True)
    ]
    return ("\n".join(lines) + "\n").encode()


def csv_text(X, y):
    lines = [",".join([*(repr(float(x)) for x in row), label]) for row, label in zip(X, y, strict=True)]
    return ("\n".join([",".join([*(f"x{j}" for j in range(X.shape[1])), "way"]), *lines]) + "\n").encode()


def write_arrow(path, X, y):
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet and Arrow files need the extra `files`")
    from pyarrow import ipc, parquet

    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    rows = pyarrow.table(columns | {"way": y.tolist()})
    if path.suffix == ".parquet":
        parquet.write_table(rows, path, row_group_size=70)
    elif path.suffix == ".arrow":
        with ipc.new_file(path, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=70)
    else:
        with ipc.new_stream(path, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=70)


def opened(kind, folder, X, y, **options):
    """The table in a file of that kind, as a source."""
    if kind == "libsvm":
        path = folder / "rows.txt"
        path.write_bytes(libsvm_text(X, y))
        return maxmargin.open(path, n_features=D, **options)
    if kind == "csv":
        path = folder / "rows.csv"
        path.write_bytes(csv_text(X, y))
        return maxmargin.open(path, label="way", **options)
    if kind in ("parquet", "arrow", "ipc"):
        path = folder / f"rows.{kind}"
        write_arrow(path, X, y)
        return maxmargin.open(path, label=-1, **options)
    if kind in ("npy", "npy by columns"):
        np.save(folder / "rows.npy", np.asfortranarray(X) if kind == "npy by columns" else X)
        np.save(folder / "labels.npy", y)
        return maxmargin.open(folder / "rows.npy", labels=folder / "labels.npy", **options)
    if kind in ("npz", "npz compressed"):
        write = np.savez_compressed if kind == "npz compressed" else np.savez
        write(folder / "rows.npz", X=X, y=y)
        return maxmargin.open(folder / "rows.npz", **options)
    if kind == "npz CSR":
        sparse.save_npz(folder / "rows.npz", sparse.csr_matrix(X))
        return maxmargin.open(folder / "rows.npz", labels=y, **options)
    batches = [(X[a : a + 37], y[a : a + 37]) for a in range(0, N, 37)]
    return maxmargin.open(iter(batches) if kind == "iterator" else batches, **options)


ARRAYS = ["npy", "npy by columns", "npz", "npz compressed", "npz CSR"]
KINDS = ["libsvm", "csv", "parquet", "arrow", "ipc", *ARRAYS, "batches", "iterator"]


def dense(source):
    return np.concatenate([block.X.toarray() if sparse.issparse(block.X) else block.X for block in source])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("memory", [100, 3000, "1MB"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_in_blocks_of_any_size_holds_the_same_rows(kind, memory, dtype, table, tmp_path):
    X, y = table
    with opened(kind, tmp_path, X, y, memory=memory, dtype=dtype) as source:
        for _ in range(2):  # a pass can be made again, also over what was an iterator
            assert_array_equal(dense(source), X)
        assert source.block(0).X.dtype == dtype
        assert_array_equal(source.y, y)
        assert_array_equal(source.classes, ["down", "up"])
        assert_array_equal(source.classes[source.codes], y)
        assert source.codes.dtype == np.int8
        assert (source.n_rows, source.n_features, len(source)) == (N, D, N)
        assert (source.n_blocks == 1) == (memory == "1MB")
        assert_array_equal(source.weight, np.ones(N))


def without_labels(kind, folder, X, **options):
    """The table in a file of that kind that has no labels, as a source."""
    path = folder / f"unlabelled.{kind.split()[0]}"
    if kind == "csv":
        path.write_text("\n".join(",".join(map(repr, row)) for row in X.tolist()))
    elif kind == "npy":
        np.save(path, X)
    elif kind == "npz":
        np.savez(path, X=X)
    elif kind == "npz CSR":
        sparse.save_npz(path, sparse.csr_matrix(X))
    else:
        write_arrow(path, X, X[:, 0])
    return maxmargin.open(path, **options)


@pytest.mark.parametrize("memory", [100, "1MB"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "npy", "npz", "npz CSR"])
def test_rows_without_labels_are_read_and_say_so_to_whoever_asks_for_labels(kind, memory, table, tmp_path):
    X = table[0]
    with without_labels(kind, tmp_path, X, memory=memory) as source:
        assert not source.has_labels
        expected = np.column_stack([X, X[:, 0]]) if kind in ("parquet", "arrow") else X
        assert_array_equal(dense(source), expected)
        assert all(np.isnan(block.y).all() and len(block.y) == block.X.shape[0] for block in source)
        assert not source.split()[0].has_labels
        assert_array_equal(dense(source.map(LinearQuadratic())), LinearQuadratic().transform(expected))
        for ask in (lambda: source.y, lambda: source.classes, lambda: source.codes, lambda: source.split()[0].codes):
            with pytest.raises(DataError, match=r"has no labels\. Open it with label='name'"):
                ask()
        for machine in (maxmargin.LinearSVC, maxmargin.LinearSVR, maxmargin.LogisticRegression, maxmargin.GaussianNB):
            with pytest.raises(DataError, match=r"has no labels\. Open it with label='name'"):
                machine().fit(source)


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_plain_matrices_are_read_from_where_they_lie_and_nothing_is_written(kind, table, tmp_path, monkeypatch):
    X, y = table
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    with opened(kind, tmp_path, X, y, memory=3000, cache=tmp_path / "temporary") as source:
        before = sorted(path.name for path in tmp_path.iterdir())
        model = maxmargin.LinearSVC(stream="block", memory="20KB").fit(source)
        model.certificate_.verify(source)
        model.certificate_.verify(X, y)
        assert list((tmp_path / "temporary").iterdir()) == []
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        assert source.bytes_read == source.rows_read * 4 * D
        assert "300 rows, 7 features, dense" in repr(source)
    with pytest.raises(DataError, match="the source was closed"):
        source.block(0)


def test_a_plain_matrix_has_the_blocks_of_a_block_file_and_becomes_one(table, tmp_path):
    X, y = table
    with opened("npy", tmp_path, X, y, memory=1000) as source:
        with (tmp_path / "rows.blocks").open("wb") as file:
            source.write_blocks(file)
        stored = maxmargin.open(tmp_path / "rows.blocks")
        assert [stored.span(k) for k in range(stored.n_blocks)] == [source.span(k) for k in range(source.n_blocks)]
        buffers = source.buffers()
        memory = buffers.values.ctypes.data
        for k in np.random.default_rng(0).permutation(source.n_blocks):
            read, fresh = source.read(k, buffers), stored.block(k)
            assert read.X.ctypes.data == memory
            assert_array_equal(read.X, fresh.X)
            assert_array_equal(read.y, fresh.y)
            assert_array_equal(read.weight, fresh.weight)
        buffers.close()


@pytest.mark.parametrize("dtype", [">f8", "<f4", "<i2", "|u1", "|b1"])
def test_numbers_of_any_type_are_converted_while_they_are_read(dtype, tmp_path):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    np.save(tmp_path / "rows.npy", X)
    for kind in ("float32", "float64"):
        with maxmargin.open(tmp_path / "rows.npy", dtype=kind, labels=[0, 1, 0, 1]) as source:
            assert source.block(0).X.dtype == kind
            assert_array_equal(dense(source), X)


def test_a_plain_matrix_that_changes_while_it_is_in_use_is_noticed(table, tmp_path):
    X, y = table
    with opened("npy", tmp_path, X, y, memory=1000) as source:
        fingerprint = source.fingerprint()
        assert source.rows_read == N
        assert fingerprint == source.fingerprint()
        X[0, 0] += 1
        np.save(tmp_path / "rows.npy", X)
        with pytest.raises(DataError, match=r"rows\.npy: rows 0 to \d+ changed while they were in use"):
            source.block(0)
        os.truncate(tmp_path / "rows.npy", 1000)
        with pytest.raises(DataError, match=r"rows\.npy became shorter"):
            source.block(source.n_blocks - 1)
    np.save(tmp_path / "rows.npy", X)
    with maxmargin.open(tmp_path / "rows.npy", labels=y, memory=1000) as source:
        assert source.fingerprint() != fingerprint
        other = maxmargin.open(tmp_path / "rows.npy", labels=y[::-1], memory=1000).fingerprint()
        assert source.fingerprint() != other


def test_more_numbers_than_classes_beside_a_plain_matrix_are_a_target(tmp_path):
    y = np.arange(70_000) + 0.5
    np.save(tmp_path / "rows.npy", np.ones((70_000, 1), dtype=np.float32))
    with maxmargin.open(tmp_path / "rows.npy", labels=y, memory="100KB") as source:
        assert_array_equal(source.y, y)
        assert_array_equal(np.concatenate([block.y for block in source]), y)
        with pytest.raises(DataError, match="too many for classes"):
            source.codes  # noqa: B018 - the question raises


_READING_A_TABLE = """
import sys
import maxmargin

with maxmargin.open(sys.argv[1], label="y", dtype=sys.argv[2], skip_bad_rows=9) as source:
    print([block.X.tolist() for block in source], source.y.tolist(), source.skipped)
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.slow
def test_a_table_is_read_the_same_when_loops_are_interpreted(dtype, tmp_path):
    numbers = [
        "-1.5",
        "0.1",
        "1e39",
        "1e400",
        "4.9e-324",
        "9007199254740993",
        "12345678901234567890123",
        "/",
        ":",
        "8e-5",
    ]
    lines = ["a,b,y", *(f"{number},{i},label {i % 3}" for i, number in enumerate(numbers))]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    words = [sys.executable, "-W", "error", "-c", _READING_A_TABLE, tmp_path / "table.csv", dtype]
    compiled, interpreted = (
        subprocess.run(words, env={**os.environ, "NUMBA_DISABLE_JIT": disable}, capture_output=True, text=True)
        for disable in "01"
    )
    assert interpreted.stderr == ""
    assert interpreted.stdout == compiled.stdout != ""


@pytest.mark.parametrize("kind", ["libsvm", "csv"])
@pytest.mark.parametrize("how", COMPRESSORS)
def test_compressed_text_holds_the_same_rows_under_any_name(how, kind, table, tmp_path):
    X, y = table
    text = libsvm_text(X, y) if kind == "libsvm" else csv_text(X, y)
    for name in (f"rows.{kind}.{how}", "rows"):
        path = tmp_path / name
        path.write_bytes(COMPRESSORS[how](text))
        label = "way" if kind == "csv" else None
        with maxmargin.open(path, format=kind, label=label) as source:
            assert_array_equal(dense(source), X)
            assert_array_equal(source.y, y)


@pytest.mark.parametrize("how", [how for how in COMPRESSORS if how != "plain"])
def test_a_compressed_file_that_was_cut_or_damaged_is_refused_by_name(how, table, tmp_path):
    whole = COMPRESSORS[how](libsvm_text(*table))
    path = tmp_path / f"rows.{how}"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=rf"rows\.{how}: the compressed file (ends in the middle|is damaged)"):
        maxmargin.open(path).n_rows  # noqa: B018 - the question starts the first pass
    path.write_bytes(whole[:40] + bytes(30) + whole[70:])
    with pytest.raises(DataError, match=rf"rows\.{how}"):
        maxmargin.open(path).n_rows  # noqa: B018 - likewise


def test_two_compressed_files_one_behind_the_other_are_one(table, tmp_path):
    X, y = table
    for how in ("gz", "bz2", "xz", "zst"):
        path = tmp_path / f"rows.{how}"
        compress = COMPRESSORS[how]
        path.write_bytes(compress(libsvm_text(X[:100], y[:100])) + compress(libsvm_text(X[100:], y[100:])))
        with maxmargin.open(path, n_features=D) as source:
            assert_array_equal(dense(source), X)


@pytest.mark.parametrize("kind", ["libsvm", "csv", "npy"])
def test_files_in_a_list_or_a_pattern_are_read_one_after_the_other(kind, table, tmp_path):
    X, y = table
    paths = []
    for k, (a, b) in enumerate([(0, 50), (50, 51), (51, N)]):
        folder = tmp_path / f"part-{k}"
        folder.mkdir()
        opened(kind, folder, X[a:b], y[a:b])
        paths.append(next(path for path in folder.iterdir() if path.stem == "rows"))
    options = {"libsvm": {"n_features": D}, "csv": {"label": "way"}, "npy": {"labels": y}}[kind]
    for given in (paths, [str(path) for path in paths], str(tmp_path / "part-*" / "rows*")):
        with maxmargin.open(given, memory=2000, **options) as source:
            assert_array_equal(dense(source), X)
            assert_array_equal(source.y, y)


def test_tables_with_other_columns_are_not_taken_for_one(tmp_path):
    (tmp_path / "a.csv").write_text("p,q,y\n1,2,0\n")
    (tmp_path / "b.csv").write_text("q,p,y\n1,2,0\n")
    with pytest.raises(DataError, match=r"b\.csv, line 1: found columns \['q', 'p', 'y'\]"):
        maxmargin.open([tmp_path / "a.csv", tmp_path / "b.csv"], label="y").n_rows  # noqa: B018 - it raises


def test_integers_too_many_for_classes_become_a_target_of_doubles():
    y = np.arange(70_000)
    with maxmargin.open([(np.ones((35_000, 1)), y[:35_000]), (np.ones((35_000, 1)), y[35_000:])]) as source:
        assert_array_equal(source.y, y)
        assert {block.y.dtype for block in source} == {np.dtype(np.float64)}


def test_columns_count_from_0_in_all_files_when_they_do_in_one(tmp_path):
    (tmp_path / "a").write_text("1 1:5\n")
    (tmp_path / "b").write_text("1 0:6\n")
    with maxmargin.open([tmp_path / "a", tmp_path / "b"]) as source:
        assert_array_equal(dense(source), [[0, 5], [6, 0]])


def test_a_pass_of_scikit_learns_writer_and_our_reader_changes_nothing(rng, tmp_path):
    X = sparse.random(80, 40, 0.2, format="csr", random_state=rng) * 10.0 ** rng.integers(-6, 7)
    y = rng.normal(size=80)
    for zero_based in (True, False):
        dump_svmlight_file(X, y, str(tmp_path / "rows"), zero_based=zero_based)
        with maxmargin.open(tmp_path / "rows", dtype="float64", zero_based=zero_based, n_features=40) as source:
            read = sparse.vstack([block.X for block in source], format="csr")
            assert_allclose(read.toarray(), X.toarray(), rtol=1e-15)  # it writes 16 digits
            assert_allclose(source.y, y, rtol=1e-15)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_the_number_of_threads_changes_nothing(n_jobs, table, tmp_path):
    with opened("libsvm", tmp_path, *table, n_jobs=n_jobs) as source:
        assert_array_equal(dense(source), table[0])
        one = source.fingerprint()
    with opened("libsvm", tmp_path, *table, n_jobs=1) as source:
        assert source.fingerprint() == one


def test_a_map_expands_each_block_as_it_would_all_rows(table, tmp_path):
    X, y = table
    phi = LinearQuadratic()
    expected = phi.transform(X)
    for kind in ("csv", "libsvm"):
        with opened(kind, tmp_path, X, y, memory=2000) as source:
            mapped = source.map(phi)
            assert_allclose(dense(mapped), expected, rtol=1e-6)
            assert mapped.n_features == expected.shape[1]
            assert mapped.n_rows == N
            assert_array_equal(mapped.codes, source.codes)
            assert_array_equal(mapped.y, y)
            buffers = mapped.buffers()
            read = mapped.read(mapped.n_blocks - 1, buffers)
            fresh = mapped.block(mapped.n_blocks - 1)
            assert_array_equal(dense([read]), dense([fresh]))
            assert read.start == fresh.start
            assert mapped.fingerprint() != source.fingerprint()


def test_a_block_that_grows_in_a_map_is_expanded_in_parts_of_about_its_size(tmp_path):
    X = np.random.default_rng(3).standard_normal((6000, 5)).astype(np.float32)
    y = np.arange(6000)
    phi = RandomFourier(n_components=500, random_state=0).fit(X)
    with maxmargin.open([(X, y)], memory="100KB") as source:
        mapped = source.map(phi)
        assert mapped.n_blocks > source.n_blocks > 1
        spans = [mapped.span(k) for k in range(mapped.n_blocks)]
        assert [first for first, _ in spans] == [0, *(last for _, last in spans[:-1])]
        assert spans[-1][1] == 6000
        buffers = mapped.buffers()
        for k in np.random.default_rng(0).permutation(mapped.n_blocks):
            block, (first, last) = mapped.read(k, buffers), spans[k]
            assert block.X.nbytes <= 5 << 20
            assert_array_equal(block.y, y[first:last])
            assert_allclose(block.X, phi.transform(X[first:last]), rtol=1e-6)
        assert block.X.nbytes < buffers.n_bytes
        buffers.close()


def test_a_random_order_of_parts_reads_every_block_underneath_once():
    X = np.random.default_rng(3).standard_normal((6000, 5)).astype(np.float32)
    phi = RandomFourier(n_components=500, random_state=0).fit(X)
    with maxmargin.open([(X, np.arange(6000))], memory="100KB") as source:
        mapped = source.map(phi)
        orders = [mapped.shuffled(np.random.default_rng(seed)) for seed in range(2)]
        for order in orders:
            assert_array_equal(np.sort(order), np.arange(mapped.n_blocks))
            buffers, read = mapped.buffers(), []
            for k in order:
                mapped.read(k, buffers)
                read.append(buffers.number)
            changes = 1 + sum(before != after for before, after in itertools.pairwise(read))
            assert changes == source.n_blocks < mapped.n_blocks
            buffers.close()
        assert not np.array_equal(*orders)


def test_bytes_are_kept_as_bytes_for_a_map_that_expands_them(tmp_path):
    X = np.frombuffer(b"ACGT", dtype=np.uint8)[np.random.default_rng(5).integers(4, size=(300, 40))]
    y = np.arange(300) % 2
    np.save(tmp_path / "rows.npy", X)
    phi = KMers(2, length=40)
    for data, labels in (([(X, y)], None), (tmp_path / "rows.npy", y)):
        with maxmargin.open(data, labels=labels, dtype="uint8", memory="4KB") as source:
            assert source.block(0).X.dtype == np.uint8
            assert source.n_bytes < 1.5 * X.nbytes
            assert_array_equal(dense(source.map(phi)), phi.transform(X).toarray())
            in_stream = LinearSVC(loss="hinge", tol=1e-6).fit(source.map(phi)).certificate_.primal
        in_memory = LinearSVC(loss="hinge").fit(phi.transform(X), y).certificate_.primal
        assert in_stream == pytest.approx(in_memory, rel=1e-3)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_texts_in_batches_become_rows_of_bytes(dtype):
    texts = ["GATTACA", "ACGT", "CCC", "TTGACCA"]
    batches = [(texts[:2], [0, 1]), (np.array(texts[2:]), [1, 0])]
    for phi in (KMers(2), HashedNGrams(n_features=64)):
        with maxmargin.open(batches, dtype=dtype) as source:
            assert source.n_features == 7
            assert_array_equal(dense(source.map(phi)), phi.transform(texts).toarray())
    with (
        maxmargin.open([(["AC"], [0]), (["ACG"], [1])], dtype=dtype) as source,
        pytest.raises(DataError, match="batch 1: found a text of 3 bytes, and there is room for 2"),
    ):
        source.n_rows  # noqa: B018 - reads the batches
    with maxmargin.open([(["AC"], [0]), (["ACG"], [1])], dtype=dtype, n_features=5) as source:
        assert source.n_features == 5


def test_landmarks_are_chosen_from_a_source_as_from_all_rows(table, tmp_path):
    X, y = table
    with opened("libsvm", tmp_path, X, y, memory=2000) as source:
        chosen = Nystroem(Gaussian(0.1), 20, random_state=3).fit(source)
    from_arrays = Nystroem(Gaussian(0.1), 20, random_state=3).fit(X)
    assert_array_equal(chosen.component_indices_, from_arrays.component_indices_)
    assert_allclose(chosen.components_.toarray(), from_arrays.components_, rtol=1e-6)


def test_a_label_that_two_columns_have_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("y,b,y\n1,2,3\n0,1,2\n")
    with pytest.raises(DataError, match="2 columns are called 'y'"):
        maxmargin.open(tmp_path / "a.csv", label="y").n_rows  # noqa: B018 - reads the file


@pytest.mark.parametrize("length", range(4, 30))
def test_a_file_cut_short_after_the_first_bytes_of_bzip2_is_refused(length, tmp_path):
    (tmp_path / "a.svm.bz2").write_bytes(bz2.compress(b"1 1:1\n0 1:2\n")[:length])
    with pytest.raises(DataError, match=r"ends in the middle|damaged"):
        maxmargin.open(tmp_path / "a.svm.bz2").n_rows  # noqa: B018 - likewise


@pytest.mark.parametrize("data", ["rows.npy", "rows.svm", [(np.ones((2, 2)), [0, 1])]])
def test_bytes_are_not_made_of_other_numbers(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.full((2, 2), 300.0))
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    with pytest.raises((DataTypeError, ParameterError), match="uint8"):
        maxmargin.open(data, dtype="uint8").n_rows  # noqa: B018 - reads the rows


def test_two_maps_have_two_fingerprints(table, tmp_path):
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        def transform(self, X):
            return X * self.factor

    with opened("csv", tmp_path, *table) as source:
        assert source.map(Scaled(2.0)).fingerprint() == source.map(Scaled(2.0)).fingerprint()
        assert source.map(Scaled(2.0)).fingerprint() != source.map(Scaled(3.0)).fingerprint()


@pytest.mark.parametrize("memory", [100, 3000, "1MB"])
def test_a_split_puts_each_row_on_one_side_whatever_the_blocks(memory, table, tmp_path):
    X, y = table
    with opened("csv", tmp_path, X, y) as whole, opened("csv", tmp_path, X, y, memory=memory) as source:
        one = [dense(part) for part in whole.split(test=0.3, seed=4)]
        for part, expected in zip(source.split(test=0.3, seed=4), one, strict=True):
            assert_array_equal(dense(part), expected)
            assert part.n_rows == len(part) == len(expected)
            assert_array_equal(np.concatenate([block.y for block in part]), part.y)
            assert_array_equal(part.classes[part.codes], part.y)
            assert_array_equal(np.concatenate([block.weight for block in part]), part.weight)
            assert [block.start for block in part] == [part.span(k)[0] for k in range(part.n_blocks)]
            assert all(len(block.y) for block in part)
            buffers = part.buffers()
            again = [part.read(k, buffers).y.copy() for k in range(part.n_blocks)]
            assert_array_equal(np.concatenate(again), part.y)
        together = np.concatenate(one)
        assert sorted(map(tuple, together.tolist())) == sorted(map(tuple, X.tolist()))


def test_a_split_takes_about_its_part_and_depends_on_the_seed_only():
    from maxmargin.data.sources.derived import is_test_row

    n = 200_000
    for test in (0.01, 0.2, 0.5):
        for seed in (0, 1, 2**40):
            chosen = is_test_row(0, n, test, seed)
            assert abs(chosen.mean() - test) < 5 * np.sqrt(test * (1 - test) / n)  # five standard deviations
            assert_array_equal(chosen[1000:2000], is_test_row(1000, 2000, test, seed))
            pairs = chosen[1:] & chosen[:-1]
            assert abs(pairs.mean() - test**2) < 8 * np.sqrt(test**2 / n)  # neighbours fall independently
    assert not np.array_equal(is_test_row(0, 100, 0.5, 0), is_test_row(0, 100, 0.5, 1))


def test_head_gives_the_first_rows_from_as_many_blocks_as_needed(table, tmp_path):
    X, y = table
    for kind in ("libsvm", "csv"):
        for memory in (1, "1MB"):
            with opened(kind, tmp_path, X, y, memory=memory) as source:
                rows, labels = source.head(7)
                assert_array_equal(rows.toarray() if sparse.issparse(rows) else rows, X[:7])
                assert_array_equal(labels, y[:7])
                assert len(source.head()[1]) == 5
                assert len(source.head(10 * N)[1]) == N


def test_a_cache_is_found_again_until_the_file_or_a_setting_changes(table, tmp_path):
    X, y = table
    cache = tmp_path / "cache"
    cache.mkdir()
    passes = []
    options = {"cache": cache, "progress": passes.append}
    with opened("csv", tmp_path, X, y, **options) as source:
        assert source.n_rows == N
    first = len(passes)
    assert first > 0
    with maxmargin.open(tmp_path / "rows.csv", label="way", **options) as source:
        assert_array_equal(dense(source), X)
        assert len(passes) == first  # no second first pass
    with maxmargin.open(tmp_path / "rows.csv", label="way", dtype="float64", **options) as source:
        assert source.block(0).X.dtype == np.float64
    with opened("csv", tmp_path, X[:50], y[:50], **options) as source:
        assert source.n_rows == 50
    assert len(list(cache.iterdir())) == 3


def test_the_fingerprint_tells_rows_apart_and_not_names(table, tmp_path):
    X, y = table

    def fingerprint(folder, X, y, **options):
        (tmp_path / folder).mkdir()
        with opened("csv", tmp_path / folder, X, y, **options) as source:
            return source.fingerprint()

    other = X.copy()
    other[-1, -1] += 1
    first = fingerprint("a", X, y)
    assert first == fingerprint("b", X, y)
    assert first != fingerprint("c", other, y)
    assert first != fingerprint("d", X, y[::-1])
    assert first != fingerprint("e", X, y, memory=1000)


@pytest.mark.slow
def test_temporary_files_go_with_close_with_the_object_and_with_the_process(table, tmp_path):
    source = opened("csv", tmp_path, *table)
    folder = source.path.parent
    source.close()
    assert not folder.exists()
    with pytest.raises(DataError, match="the source was closed"):
        source.block(0)
    source = opened("csv", tmp_path, *table)
    train, _ = source.split()
    folder = source.path.parent
    del source
    gc.collect()
    assert train.n_rows > 0  # the part keeps the whole alive
    del train, _
    gc.collect()
    assert not folder.exists()
    program = f"import maxmargin; print(maxmargin.open({str(tmp_path / 'rows.csv')!r}, label='way').path.parent)"
    program += "; kept = maxmargin.open([([[1.0]], [0])]); print(kept.path.parent)"
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert len(found.split()) == 2
    assert not any(Path(path).exists() for path in found.split())


@pytest.mark.slow
def test_temporary_files_of_a_killed_process_go_with_the_next_source_and_those_of_a_living_one_stay(table, tmp_path):
    (tmp_path / "temporary").mkdir()
    program = (
        "import sys, time, maxmargin\n"
        "source = maxmargin.open(sys.argv[1], label='way')\n"
        "print(source.path, flush=True)\n"
        "time.sleep(60)\n"
    )
    opened("csv", tmp_path, *table)
    words = [sys.executable, "-c", program, str(tmp_path / "rows.csv")]
    place = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    last = "import sys, maxmargin; print(maxmargin.open(sys.argv[1], label='way').n_rows)"
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=place) as killed,
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=place) as living,
    ):
        abandoned, used = (Path(process.stdout.readline().strip()) for process in (killed, living))
        killed.kill()
        killed.wait()
        assert abandoned.exists()
        subprocess.run([sys.executable, "-c", last, str(tmp_path / "rows.csv")], check=True, env=place)
        assert not abandoned.parent.exists()
        assert used.exists()
        living.kill()


def test_a_failed_first_pass_leaves_no_temporary_files_and_can_be_tried_again(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    path = tmp_path / "rows"
    path.write_text("1 1:2\n-1 x\n")
    source = maxmargin.open(path)
    for _ in range(2):
        with pytest.raises(DataError, match="line 2"):
            source.n_rows  # noqa: B018 - the question starts the first pass
    assert list((tmp_path / "temporary").iterdir()) == []
    path.write_text("1 1:2\n-1 1:3\n")
    assert_array_equal(source.codes, [1, 0])
    source.close()


def test_nothing_is_read_before_it_is_asked_for(table, tmp_path):
    seen = []
    source = opened("libsvm", tmp_path, *table, progress=seen.append, memory=2000)
    assert "not read yet" in repr(source)
    assert seen == []
    assert source.bytes_read == source.rows_read == 0
    assert source.n_rows == N
    size = (tmp_path / "rows.txt").stat().st_size
    assert seen[-1] == (size, size, N)
    assert (source.bytes_read, source.rows_read) == (size, N)
    for _ in source:
        pass
    assert source.rows_read == 2 * N
    assert source.bytes_read > size
    assert re.search(r"rows\.txt: 300 rows, 7 features, sparse, \d+ blocks", repr(source))
    assert "map" in repr(source.map(LinearQuadratic()))
    assert "split(test=0.2, seed=0)[1]" in repr(source.split()[1])
    source.close()


@pytest.mark.parametrize("kind", ["parquet", "arrow", "ipc", "npz compressed"])
def test_progress_tells_how_far_a_file_was_read(kind, table, tmp_path):
    seen = []
    with opened(kind, tmp_path, *table, progress=seen.append) as source:
        assert source.n_rows == N
    assert [at.rows for at in seen] == sorted(at.rows for at in seen)
    assert seen[-1].rows == N
    assert 0 < seen[0].bytes_read <= seen[-1].bytes_read <= seen[-1].bytes_total
    assert seen[-1].bytes_read >= 0.8 * seen[-1].bytes_total  # the end of the file may hold no rows


def test_a_source_is_what_solvers_ask_for(table, tmp_path):
    with opened("csv", tmp_path, *table) as source:
        rows: Source = source
        for name in ("n_rows", "n_features", "n_blocks", "y", "weight", "block"):
            assert hasattr(rows, name)


def outside():
    """A CSR matrix with a column number that it should not have."""
    X = sparse.csr_matrix([[1.0, 0.0, 2.0]])
    X.indices[1] = 3
    return X


WRONG = {
    "no such file": (lambda folder: maxmargin.open(folder / "none.txt"), FileNotFoundError, r"is called .*none\.txt"),
    "empty pattern": (lambda folder: maxmargin.open(str(folder / "*.txt")), FileNotFoundError, r"matches .*\*\.txt"),
    "directory": (lambda folder: maxmargin.open(folder), DataError, "is a directory"),
    "empty list": (lambda folder: maxmargin.open([]), DataError, "empty list"),
    "a number": (lambda folder: maxmargin.open(5), DataTypeError, "got int"),
    "format": (lambda folder: maxmargin.open(folder / "a.csv", format="cvs"), ParameterError, "Did you mean 'csv'"),
    "memory": (lambda folder: maxmargin.open(folder / "a.csv", memory="big"), ParameterError, "memory must be"),
    "dtype": (lambda folder: maxmargin.open(folder / "a.csv", dtype="int8"), ParameterError, "dtype must be"),
    "zero_based": (lambda folder: maxmargin.open(folder / "a.csv", zero_based=1), ParameterError, "zero_based must"),
    "skip": (lambda folder: maxmargin.open(folder / "a.csv", skip_bad_rows=-1), ParameterError, "skip_bad_rows must"),
    "n_features": (lambda folder: maxmargin.open(folder / "a.csv", n_features=0), ParameterError, "n_features must"),
    "cache": (lambda folder: maxmargin.open(folder / "a.csv", cache=folder / "x"), ParameterError, "not a directory"),
    "mixed": (lambda folder: maxmargin.open([folder / "a.csv", folder / "b.npy"]), DataError, "several formats"),
    "label of text": (lambda folder: maxmargin.open(folder / "c", label=1), ParameterError, "means nothing for LIBSVM"),
    "labels of csv": (lambda folder: maxmargin.open(folder / "a.csv", labels=[1]), ParameterError, "means nothing"),
    "no label": (
        lambda folder: maxmargin.open(folder / "a.csv").y,
        DataError,
        r"has no labels. Open it with label='name', or label=-1",
    ),
    "label name": (lambda folder: maxmargin.open(folder / "a.csv", label="z").n_rows, DataError, "Found: 'p', 'q'"),
    "label place": (lambda folder: maxmargin.open(folder / "a.csv", label=2).n_rows, DataError, "there are 2 columns"),
    "one column": (lambda folder: maxmargin.open(folder / "d.csv", label=0).n_rows, DataError, "one column only"),
    "no labels": (lambda folder: maxmargin.open(folder / "b.npy").codes, DataError, "has no labels.*labels= for NumPy"),
    "few labels": (lambda folder: maxmargin.open(folder / "b.npy", labels=[1]).y, DataError, "1 labels"),
    "many labels": (lambda folder: maxmargin.open(folder / "b.npy", labels=[1] * 5).y, DataError, "5 labels"),
    "word as label": (
        lambda folder: maxmargin.open(folder / "h.csv").n_rows,
        DataError,
        "column 'q' has 'up', which is not a finite decimal number.* label= if it is the label",
    ),
    "npz of nothing": (
        lambda folder: maxmargin.open(folder / "e.npz").n_rows,
        DataError,
        "found z; expected a matrix X",
    ),
    "not npy": (
        lambda folder: maxmargin.open(folder / "f.npy", labels=[1]).n_rows,
        DataError,
        "cannot be read as a NumPy",
    ),
    "not npz": (lambda folder: maxmargin.open(folder / "f.npz").n_rows, DataError, "not a whole .npz archive"),
    "nan in npy": (
        lambda folder: maxmargin.open(folder / "g.npy", labels=[1, 2]).head(),
        DataError,
        "row 1, column 0: found nan",
    ),
    "beyond single in npy": (
        lambda folder: maxmargin.open(folder / "i.npy").head(),
        DataError,
        r"found 1e\+300; .*float32",
    ),
    "head": (lambda folder: maxmargin.open(folder / "a.csv", label=0).head(0), ParameterError, "n must be 1 or more"),
    "map": (lambda folder: maxmargin.open(folder / "a.csv", label=0).map(5), ParameterError, "method transform"),
    "test part": (lambda folder: maxmargin.open(folder / "a.csv", label=0).split(1.5), ParameterError, "test must be"),
    "seed": (lambda folder: maxmargin.open(folder / "a.csv", label=0).split(seed=-1), ParameterError, "seed must be"),
    "empty part": (
        lambda folder: maxmargin.open(folder / "a.csv", label=0).split(1e-9)[1].n_rows,
        DataError,
        "no rows",
    ),
    "more columns": (
        lambda folder: maxmargin.open(folder / "a.csv", label=0, n_features=3).n_rows,
        DataError,
        "expected 4",
    ),
    "not a pair": (lambda folder: maxmargin.open([5]).n_rows, DataTypeError, r"batch 0: expected \(X, y\)"),
    "short y": (lambda folder: maxmargin.open([([[1.0]], [1, 2])]).n_rows, DataError, "1 rows, but labels of shape"),
    "nan in y": (lambda folder: maxmargin.open([([[1.0]], [np.nan])]).n_rows, DataError, "label of row 0 is nan"),
    "nan in X": (lambda folder: maxmargin.open([([[np.nan]], [1])]).n_rows, DataError, "row 0, column 0: found nan"),
    "large X": (lambda folder: maxmargin.open([([[1e300]], [1])]).n_rows, DataError, r"found 1e\+300"),
    "words in X": (lambda folder: maxmargin.open([([["a"]], [1])]).n_rows, DataTypeError, "must hold real numbers"),
    "weights": (lambda folder: maxmargin.open([([[1.0]], [1], [-1.0])]).n_rows, DataError, "weights must be finite"),
    "column outside": (
        lambda folder: maxmargin.open([(outside(), [1])]).n_rows,
        DataError,
        "X has 3 columns, but an entry outside",
    ),
    "some weights": (
        lambda folder: maxmargin.open([([[1.0]], [1], [1.0]), ([[1.0]], [1])]).n_rows,
        DataError,
        "Some batches have weights",
    ),
    "other kind of y": (
        lambda folder: maxmargin.open([([[1.0]], [1]), ([[1.0]], ["a"])]).n_rows,
        DataTypeError,
        "of kind text, those before of kind integer",
    ),
    "other columns": (
        lambda folder: maxmargin.open([([[1.0]], [1]), ([[1.0, 2.0]], [1])]).n_rows,
        DataError,
        "batch 1: X is dense with 2 columns",
    ),
    "no batches": (lambda folder: maxmargin.open(iter([])).n_rows, DataError, "there are no rows"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_told_what_was_found_and_what_is_allowed(case, tmp_path):
    call, kind, message = WRONG[case]
    (tmp_path / "a.csv").write_text("p,q\n1,2\n3,4\n")
    np.save(tmp_path / "b.npy", np.ones((3, 2)))
    (tmp_path / "c").write_text("1 1:2\n")
    (tmp_path / "d.csv").write_text("p\n1\n")
    np.savez(tmp_path / "e.npz", z=np.ones(3))
    (tmp_path / "f.npy").write_bytes(b"not an array")
    (tmp_path / "f.npz").write_bytes(b"PK\x03\x04 not an archive")
    np.save(tmp_path / "g.npy", np.array([[1.0], [np.nan]]))
    (tmp_path / "h.csv").write_text("p,q\n1,up\n")
    np.save(tmp_path / "i.npy", np.array([[1e300]]))
    with pytest.raises(kind, match=message):
        call(tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_columns_of_arrow_that_are_no_numbers_or_have_holes_are_named(kind, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet and Arrow files need the extra `files`")
    from pyarrow import ipc, parquet

    path = tmp_path / f"rows.{kind}"

    def write(**columns):
        rows = pyarrow.table(columns)
        if kind == "parquet":
            parquet.write_table(rows, path)
        else:
            with ipc.new_file(path, rows.schema) as writer:
                writer.write_table(rows)

    write(a=[1.0, None], y=[0, 1])
    with pytest.raises(DataError, match=rf"rows\.{kind}, row 1: column 'a' is null"):
        maxmargin.open(path, label="y").n_rows  # noqa: B018 - the question starts the first pass
    write(a=["x", "z"], y=[0, 1])
    with pytest.raises(DataError, match="column 'a' is of type string"):
        maxmargin.open(path, label="y").n_rows  # noqa: B018 - likewise
    write(a=[1.0, float("nan")], y=[0, 1])
    with pytest.raises(DataError, match="row 1: column 'a' is nan"):
        maxmargin.open(path, label="y").n_rows  # noqa: B018 - likewise
    write(a=[1.0, 2.0], y=[None, 1])
    with pytest.raises(DataError, match="row 0: the label 'y' is null"):
        maxmargin.open(path, label="y").n_rows  # noqa: B018 - likewise
    write(a=[1.0, 2.0], y=["u", "v"])
    with pytest.raises(DataError, match=r"column 'y' is of type string.* Then pass label='y'"):
        maxmargin.open(path).n_rows  # noqa: B018 - likewise
    rows = {
        "a": [1.0, None, 3.0, float("inf"), 5.0, 6.0, 1e300],
        "b": pyarrow.array([True, False, None, True, False, True, True]),
        "y": [1.5, 2.5, 3.5, 4.5, None, float("nan"), 7.5],
    }
    write(**rows)
    with maxmargin.open(path, label="y", skip_bad_rows=6) as source:
        assert_array_equal(dense(source), [[1, 1]])
        assert source.y.tolist() == [1.5]
        assert [message.partition(", ")[2] for message in source.skipped] == [
            "row 1: column 'a' is null. Fill it in, or leave the row out.",
            "row 2: column 'b' is null. Fill it in, or leave the row out.",
            "row 3: column 'a' is inf; it must be finite. Fill it in, or leave the row out.",
            "row 4: the label 'y' is null. Fill it in, or leave the row out.",
            "row 5: the label 'y' is nan; it must be finite. Fill it in, or leave the row out.",
            "row 6: column 'a' has 1e+300, which is beyond float32; dtype=\"float64\" holds more. Scale the feature.",
        ]
    with pytest.raises(DataError, match=r"More than skip_bad_rows=5 rows are bad. The next one: .*row 6"):
        maxmargin.open(path, label="y", skip_bad_rows=5).n_rows  # noqa: B018 - likewise
    write(a=[1, 2], b=[True, False], y=pyarrow.array(["u", "v"]).dictionary_encode())
    with maxmargin.open(path, label="y") as source:
        assert_array_equal(dense(source), [[1, 1], [2, 0]])
        assert source.y.tolist() == ["u", "v"]
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(DataError, match=rf"rows\.{kind} cannot be read"):
        maxmargin.open(path, label="y").n_rows  # noqa: B018 - likewise


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"pyarrow is not installed.*maxmargin\[files\]"):
        maxmargin.open(tmp_path / "rows.parquet", label=0).n_rows  # noqa: B018 - likewise
    if sys.version_info < (3, 14):  # newer ones read Zstandard themselves
        (tmp_path / "rows.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
        with pytest.raises(MissingExtraError, match=r"zstandard is not installed.*maxmargin\[files\]"):
            maxmargin.open(tmp_path / "rows.zst").n_rows  # noqa: B018 - likewise


def test_only_one_file_imports_each_optional_package():
    folder = Path(maxmargin.__file__).parent
    for package, home in (("pyarrow", "data/formats/arrow_files.py"), ("zstandard", "data/formats/file_bytes.py")):
        users = [path for path in folder.rglob("*.py") if re.search(rf"(import|from) {package}\b", path.read_text())]
        assert [str(path.relative_to(folder)) for path in users] == [home]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    """Reading ten times as many rows raises the peak of a fresh process by little more than a byte a row."""
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells a process its own peak of memory")
    line = "1 " + " ".join(f"{j}:0.{j}" for j in range(1, 40)) + "\n"
    program = (
        "import re, sys, maxmargin\n"
        "source = maxmargin.open(sys.argv[1], memory='1MB', n_jobs=1)\n"
        "buffers = source.buffers()\n"
        "total = sum(source.read(k, buffers).X.nnz for k in range(source.n_blocks))\n"
        "print(len(source.codes), re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    peaks = []
    for rows in (25_000, 250_000):
        (tmp_path / "rows").write_text(line * rows)
        found = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "rows")], check=True, capture_output=True, text=True
        ).stdout.split()
        assert int(found[0]) == rows
        peaks.append(int(found[1]))
    assert (tmp_path / "rows").stat().st_size > 60e6
    assert peaks[1] - peaks[0] < 12_000  # kilobytes
