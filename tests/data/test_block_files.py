"""The block file gives back what was written; what is damaged is refused by name; nothing stays behind."""

import itertools
import os
import re
import resource
import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import maxmargin
from maxmargin.data.formats.block_format import ALIGNMENT
from maxmargin.data.replacing import replacing
from maxmargin.errors import DataError, ParameterError


def rows(rng, n=200, d=30, density=0.3):
    """CSR rows of very different scales, with empty rows, empty columns, repeated rows and a constant column."""
    X = sparse.random(n, d, density, format="lil", random_state=rng, data_rvs=rng.standard_normal)
    X[:, 3], X[:, 4], X[:, d - 1], X[5], X[n - 1] = 0.0, 1.0, 0.0, 0.0, 0.0
    X = sparse.csr_matrix(sparse.diags(10.0 ** rng.integers(-6, 7, size=n)) @ X)
    return sparse.vstack([X, X[:10]], format="csr")


def all_rows(source):
    return sparse.vstack([sparse.csr_matrix(block.X) for block in source], format="csr")


def stored(tmp_path, batches, **options):
    """Path of a block file that holds the batches."""
    with maxmargin.open(batches, cache=tmp_path, **options) as source:
        return source.path


def same(first, second):
    return first.shape == second.shape and (first != second).nnz == 0


LABELS = {
    "numbers": lambda n, rng: rng.integers(0, 3, n) + 0.5,
    "integers": lambda n, rng: rng.integers(-1, 1, n),
    "booleans": lambda n, rng: rng.random(n) < 0.5,
    "words": lambda n, rng: rng.choice(np.array(["no", "yes", "perhaps, naïvely"]), n),
    "objects": lambda n, rng: rng.choice(np.array(["no", "yes"], dtype=object), n),
    "200 classes": lambda n, rng: np.arange(n) % 200,
}


@pytest.mark.parametrize("memory", [1, 1000, "1MB"])
@pytest.mark.parametrize("layout", ["CSR", "dense"])
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.slow
def test_blocks_of_any_size_hold_the_rows_labels_and_weights_that_were_written(kind, layout, memory, rng, tmp_path):
    X, weight = rows(rng), rng.random(210) * (rng.random(210) < 0.8)
    y = LABELS[kind](210, rng)
    given = X if layout == "CSR" else X.toarray()
    cuts = [0, 1, 1, 90, 210]  # one batch is empty
    batches = [(given[a:b], y[a:b], weight[a:b]) for a, b in itertools.pairwise(cuts)]
    path = stored(tmp_path, batches, memory=memory, dtype="float64")
    source = maxmargin.open(path)
    assert (source.n_rows, source.n_features) == X.shape
    assert source.n_blocks == {1: 210}.get(memory, source.n_blocks)
    assert sparse.issparse(source.block(0).X) == (layout == "CSR")
    assert same(all_rows(source), X)
    for found in (source.y, np.concatenate([block.y for block in source]), source.classes[source.codes]):
        assert_array_equal(found, y.astype(str) if kind == "objects" else y)
        assert found.dtype.kind == ("U" if kind == "objects" else y.dtype.kind)
    assert_array_equal(source.classes, np.unique(y.astype(str) if kind == "objects" else y))
    assert source.codes.dtype == (np.int16 if kind == "200 classes" else np.int8)
    assert_array_equal(source.weight, weight)
    assert_array_equal(np.concatenate([block.weight for block in source]), weight)
    assert [block.start for block in source] == [source.span(k)[0] for k in range(source.n_blocks)]


@pytest.mark.parametrize("columns", [60_000, 65_536, 65_537, 2_000_000_000])
def test_columns_are_exact_on_both_sides_of_two_bytes(columns, tmp_path):
    X = sparse.csr_matrix(([1.0, 2.0, 3.0], ([0, 0, 1], [0, columns - 1, 7])), shape=(2, columns))
    source = maxmargin.open(stored(tmp_path, [(X, [0, 1])]))
    assert same(all_rows(source), X)
    assert source.block(0).X.indices.dtype == np.int32
    assert source.block(0).X.indptr.dtype == np.int32
    assert source.block(0).X.data.dtype == np.float32


def test_no_block_takes_more_memory_than_it_may_unless_one_row_does(rng, tmp_path):
    X = rows(rng)
    source = maxmargin.open(stored(tmp_path, [(X, np.zeros(210))], memory=2000))
    assert source.n_blocks > 5
    for block in source:
        size = block.X.data.nbytes + block.X.indices.nbytes + 20 * len(block.y)
        assert size <= 2000 or len(block.y) == 1


def test_reading_into_buffers_gives_what_fresh_blocks_give_in_any_order(rng, tmp_path):
    source = maxmargin.open(stored(tmp_path, [(rows(rng), np.arange(210) % 2)], memory=1500))
    buffers = source.buffers()
    memory = buffers.values.ctypes.data
    for k in rng.permutation(source.n_blocks):
        fresh, read = source.block(k), source.read(k, buffers)
        assert same(fresh.X, read.X)
        assert np.may_share_memory(read.X.data, buffers.values)
        assert_array_equal(fresh.y, read.y)
        assert fresh.start == read.start
    assert buffers.values.ctypes.data == memory
    buffers.close()


def test_threads_read_at_the_same_time_each_with_its_buffers(rng, tmp_path):
    X = rows(rng)
    source = maxmargin.open(stored(tmp_path, [(X, np.arange(210) % 2)], memory=1500))
    expected = [source.block(k).X.copy() for k in range(source.n_blocks)]
    wrong, before = [], source.rows_read

    def reader():
        buffers = source.buffers()
        for _ in range(5):
            wrong.extend(k for k in range(source.n_blocks) if not same(source.read(k, buffers).X, expected[k]))
        buffers.close()

    threads = [threading.Thread(target=reader) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert source.rows_read - before == 4 * 5 * 210


def test_every_flipped_byte_is_noticed_and_the_block_named(rng, tmp_path):
    path = stored(tmp_path, [(rows(rng, 20, 5), np.arange(30) % 2, np.ones(30))], memory=300)
    whole = path.read_bytes()
    source = maxmargin.open(path)
    spans = [source._opened.index.blocks[k] for k in range(source.n_blocks)]
    copy = tmp_path / "copy.blocks"
    filler = 0
    for at in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        copy.write_bytes(damaged)
        block = next((k for k in reversed(range(len(spans))) if spans[k].offset <= at), None)
        try:
            read = [(same(a.X, b.X), (a.y == b.y).all()) for a, b in zip(maxmargin.open(copy), source, strict=True)]
        except DataError as error:
            assert "copy.blocks" in str(error)
            if block is not None and block + 1 < len(spans) and "block " in str(error):
                assert f"block {block} " in str(error)
        else:  # the filling between sections, and the zeros of the head, mean nothing
            assert all(row and label for row, label in read)
            filler += 1
    assert filler < 0.6 * len(range(0, len(whole), 7))


def test_every_truncated_file_is_refused(rng, tmp_path):
    path = stored(tmp_path, [(rows(rng, 20, 5), np.arange(30) % 2)], memory=300)
    whole = path.read_bytes()
    copy = tmp_path / "copy.blocks"
    for size in [*range(100), *range(100, len(whole), 61), len(whole) - 1]:
        copy.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"copy\.blocks"):
            maxmargin.open(copy).n_rows  # noqa: B018 - the question opens the file
    copy.write_bytes(whole + b"\0")
    with pytest.raises(DataError, match="its end is missing"):
        maxmargin.open(copy).n_rows  # noqa: B018 - likewise


def test_a_file_that_shrinks_while_it_is_open_is_noticed(rng, tmp_path):
    path = stored(tmp_path, [(rows(rng, 20, 5), np.arange(30) % 2)], memory=300)
    source = maxmargin.open(path)
    last = source.n_blocks - 1
    os.truncate(path, source._opened.index.blocks[last].offset)
    source.block(0)
    with pytest.raises(DataError, match=rf"block {last} .* is damaged"):
        source.block(last)


def test_a_full_disk_leaves_nothing_behind(rng, tmp_path):
    """A limit on the size of files stands in for the disk: writing fails in the middle with an error of the system."""
    X = rng.random((5000, 20))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    source = maxmargin.open([(X, X[:, 0] > 0.5)], cache=tmp_path, memory="50KB")
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            source.n_rows  # noqa: B018 - the question starts the first pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
    assert source.n_rows == 5000  # a list of batches can be gone through again


def test_an_interrupted_first_pass_leaves_nothing_behind(rng, tmp_path):
    def batches():
        yield rng.random((100, 3)), np.zeros(100)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        maxmargin.open(batches(), cache=tmp_path, memory=1000).n_rows  # noqa: B018 - likewise
    assert list(tmp_path.iterdir()) == []


def test_sections_begin_at_multiples_of_the_alignment(rng, tmp_path):
    source = maxmargin.open(stored(tmp_path, [(rows(rng), np.zeros(210))], memory=1500))
    index = source._opened.index
    offsets = [offset for block in index.blocks for *_, offset in block.sections(index)]
    assert all(offset % ALIGNMENT == 0 for offset in offsets)


def test_a_foreign_file_is_not_taken_for_blocks(tmp_path):
    path = tmp_path / "rows.blocks"
    path.write_text("1 1:2\n")
    with pytest.raises(DataError, match=r"rows\.blocks is not a block file"):
        maxmargin.open(path).n_rows  # noqa: B018 - likewise
    assert maxmargin.open(path, format="libsvm").n_rows == 1


_ON_A_SMALL_DISK = """
import os, sys
import numpy as np
import maxmargin

disk, rows = sys.argv[1:]
def tell(what, work):
    try:
        work()
    except OSError as error:
        print(f"{what}|{error.filename}|{error.strerror}|{sorted(os.listdir(disk))}")

tell("blocks", lambda: maxmargin.open(rows, cache=disk, memory="50KB").n_rows)
model = maxmargin.SVC(kernel="rbf").fit(np.eye(400), np.arange(400) % 2)
model.save(f"{disk}/model")
model.C = 2.0
before = open(f"{disk}/model", "rb").read()
with open(f"{disk}/filler", "wb") as filler:
    filler.write(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize))
tell("model", lambda: model.save(f"{disk}/model"))
print(open(f"{disk}/model", "rb").read() == before)
"""


@pytest.mark.slow
def test_a_full_disk_is_told_with_what_is_needed_and_leaves_no_half_file(tmp_path):
    disk, rows = tmp_path / "disk", tmp_path / "rows.txt"
    disk.mkdir()
    rows.write_text("\n".join(f"{i % 2} " + " ".join(f"{j}:0.{i}{j}" for j in range(1, 40)) for i in range(20_000)))
    mount = f'mount -t tmpfs -o size=3m tmpfs {disk} && exec "$@"'
    found = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mount, "sh", sys.executable, "-c", _ON_A_SMALL_DISK, str(disk), str(rows)],
        capture_output=True,
        text=True,
    )
    if "unshare" in found.stderr or "mount" in found.stderr:
        pytest.skip(f"no file system of one's own may be mounted here: {found.stderr}")
    assert found.stderr == ""
    blocks, model, untouched = found.stdout.splitlines()
    what, path, words, left = blocks.split("|")
    assert path.startswith(str(disk))
    assert path.endswith(".blocks")
    needed = re.fullmatch(
        r"No space left on device\. The block file needs at least ([\d.]+) MB; nothing was left behind\. "
        r"Name a directory that has it by cache=",
        words,
    )
    with maxmargin.open(rows) as source:
        assert 3.0 < float(needed[1]) <= source.path.stat().st_size / 1e6
    assert left == "[]"
    what, path, words, left = model.split("|")
    assert (what, path) == ("model", f"{disk}/model")
    assert words.startswith("No space left on device after ")
    assert left == "['filler', 'model']"
    assert untouched == "True"


def test_leftovers_of_a_killed_writer_go_and_files_in_the_making_stay(tmp_path):
    leftover = tmp_path / ".maxmargin-0123456789abcdef.tmp"
    leftover.write_bytes(b"half a file")
    with replacing(tmp_path / "one") as first:
        assert not leftover.exists()
        first.write(b"1")
        with replacing(tmp_path / "two") as second:
            second.write(b"2")
        assert len(list(tmp_path.glob(".maxmargin-*"))) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"one": b"1", "two": b"2"}


def test_only_a_file_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    os.mkfifo(tmp_path / "pipe")
    for name, told in (("folder", "is a directory"), ("link", "is a directory"), ("pipe", "is a device or a pipe")):
        with pytest.raises(ParameterError, match=told), replacing(tmp_path / name):
            raise AssertionError("the block must not begin")
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "link", "pipe"}
