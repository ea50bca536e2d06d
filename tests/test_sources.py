"""A source gives the same rows whatever file, compression, blocks or threads they come through."""

import bz2
import gc
import gzip
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
from maxmargin.data import Source
from maxmargin.errors import DataError, DataTypeError, MissingExtraError, ParameterError
from maxmargin.features import LinearQuadratic

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
    if kind == "npy":
        np.save(folder / "rows.npy", np.asfortranarray(X))
        np.save(folder / "labels.npy", y)
        return maxmargin.open(folder / "rows.npy", labels=folder / "labels.npy", **options)
    if kind == "npz":
        np.savez_compressed(folder / "rows.npz", X=X, y=y)
        return maxmargin.open(folder / "rows.npz", **options)
    if kind == "npz CSR":
        sparse.save_npz(folder / "rows.npz", sparse.csr_matrix(X))
        return maxmargin.open(folder / "rows.npz", labels=y, **options)
    batches = [(X[a : a + 37], y[a : a + 37]) for a in range(0, N, 37)]
    return maxmargin.open(iter(batches) if kind == "iterator" else batches, **options)


KINDS = ["libsvm", "csv", "parquet", "arrow", "ipc", "npy", "npz", "npz CSR", "batches", "iterator"]


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
    from maxmargin.data.split import is_test_row

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
        lambda folder: maxmargin.open(folder / "a.csv").n_rows,
        ParameterError,
        "say which column is the label",
    ),
    "label name": (lambda folder: maxmargin.open(folder / "a.csv", label="z").n_rows, DataError, "Found: 'p', 'q'"),
    "label place": (lambda folder: maxmargin.open(folder / "a.csv", label=2).n_rows, DataError, "there are 2 columns"),
    "one column": (lambda folder: maxmargin.open(folder / "d.csv", label=0).n_rows, DataError, "one column only"),
    "no labels": (lambda folder: maxmargin.open(folder / "b.npy").n_rows, ParameterError, "has no labels"),
    "few labels": (lambda folder: maxmargin.open(folder / "b.npy", labels=[1]).n_rows, DataError, "1 labels"),
    "many labels": (lambda folder: maxmargin.open(folder / "b.npy", labels=[1] * 5).n_rows, DataError, "5 labels"),
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
    "nan in npy": (lambda folder: maxmargin.open(folder / "g.npy", labels=[1, 2]).n_rows, DataError, "row 1, column 0"),
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
    with pytest.raises(DataError, match="column 'a' is null in 1 rows"):
        maxmargin.open(path, label="y").n_rows  # noqa: B018 - the question starts the first pass
    write(a=["x", "z"], y=[0, 1])
    with pytest.raises(DataError, match="column 'a' is of type string"):
        maxmargin.open(path, label="y").n_rows  # noqa: B018 - likewise
    write(a=[1.0, float("nan")], y=[0, 1])
    with pytest.raises(DataError, match="row 1, column 'a': found nan"):
        maxmargin.open(path, label="y").n_rows  # noqa: B018 - likewise
    write(a=[1.0, 2.0], y=[None, 1])
    with pytest.raises(DataError, match="the label 'y' is null in 1 rows"):
        maxmargin.open(path, label="y").n_rows  # noqa: B018 - likewise
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
    for package, home in (("pyarrow", "data/arrow_files.py"), ("zstandard", "data/compressed.py")):
        users = [path for path in folder.rglob("*.py") if re.search(rf"(import|from) {package}\b", path.read_text())]
        assert [str(path.relative_to(folder)) for path in users] == [home]


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
