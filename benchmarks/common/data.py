"""Data sets of the races: read once from the shared folder, or made, then kept as plain arrays in `.cache`.

Labels are -1 and +1. The look-alikes stand for sets that cannot be had: their shape, sparsity and scaling are those of
the originals, their labels come from a planted weight vector with noise.
"""

from __future__ import annotations

import json
import lzma
import shutil
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import norm
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.common.worker import read_rows

HERE = Path(__file__).parents[1]
SHARED = HERE.parents[1] / "shared" / "data"
CACHE = HERE / ".cache"
FORMAT = 1
"""Raise it when a recipe below changes: sets and optima kept under another number are made again."""
NEWSGROUP = "sci.space"
Recipe: TypeAlias = Callable[[Path], None]
"""Makes a data set in a folder."""


@dataclass(frozen=True)
class DataSet:
    """Rows and labels, and the folder of arrays that they are kept in."""

    name: str
    folder: Path
    fingerprint: str
    X: Any
    y: np.ndarray

    @property
    def megabytes(self) -> float:
        """Size of the rows as they are given to `fit`."""
        if sparse.issparse(self.X):
            return float(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes) / 1e6
        return float(self.X.nbytes) / 1e6

    @property
    def layout(self) -> str:
        """In words."""
        return f"{'CSR' if sparse.issparse(self.X) else 'dense'} {self.X.dtype}"

    def __str__(self) -> str:
        rows, columns = self.X.shape
        return f"{self.name} ({rows:,} x {columns:,}, {self.layout}, {self.megabytes:,.0f} MB)"


def load(name: str, recipes: Mapping[str, Recipe] | None = None) -> DataSet:
    """The data set of that name, from the cache where it is there, else by its recipe (of the linear races)."""
    folder = CACHE / "data" / f"{name}-{FORMAT}"
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        (RECIPES if recipes is None else recipes)[name](unfinished)
        (unfinished / "fingerprint.json").write_text(json.dumps(_fingerprint(unfinished)))
        unfinished.rename(folder)
    X, y = read_rows(folder, mapped=True)
    return DataSet(name, folder, json.loads((folder / "fingerprint.json").read_text()), X, y)


def _fingerprint(folder: Path) -> str:
    """A number that changes with any array."""
    total = 0
    for path in sorted(folder.glob("*.npy")):
        with path.open("rb") as file:
            while chunk := file.read(1 << 24):
                total = zlib.crc32(chunk, total)
    return f"{total:08x}"


def keep(folder: Path, X: Any, y: np.ndarray) -> None:
    """Write rows and targets; truth values become +1 and -1."""
    np.save(folder / "y.npy", np.where(y, 1.0, -1.0) if y.dtype == bool else np.asarray(y, dtype=np.float64))
    if not sparse.issparse(X):
        np.save(folder / "X.npy", X)
        return
    X = X.tocsr()
    X.sum_duplicates()
    parts = {"data": X.data, "columns": X.indices, "starts": X.indptr, "shape": np.array(X.shape)}
    for part, values in parts.items():
        np.save(folder / f"{part}.npy", values)


def shared_file(name: str) -> Path:
    """A file of the shared folder."""
    path = SHARED / name
    if not path.exists():
        raise FileNotFoundError(f"{name} is expected in {SHARED}, beside the checkout.")
    return path


def _svmlight(file: str, n_features: int) -> Recipe:
    def make(folder: Path) -> None:
        X, y = load_svmlight_file(str(shared_file(file)), n_features=n_features)
        keep(folder, X, y > 0)

    return make


def _newsgroups(words_in_a_term: int) -> Recipe:
    """Tf-idf of both halves of 20 newsgroups; one group against the rest."""

    def make(folder: Path) -> None:
        posts = []
        for half in ("train", "test"):
            with lzma.open(shared_file(f"20news-bydate-{half}.jsonl.xz"), "rt", encoding="utf-8", newline="\n") as file:
                posts += [json.loads(line) for line in file]
        terms = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, words_in_a_term))
        X = terms.fit_transform(post["text"] for post in posts)
        keep(folder, X, np.array([post["label"] == NEWSGROUP for post in posts]))

    return make


def _covtype(folder: Path) -> None:
    """Forest cover type, class 2 against the rest, columns of mean 0 and variance 1."""
    with np.load(shared_file("covtype.npz")) as stored:
        X, y = np.ascontiguousarray(stored["X"], dtype=np.float64), stored["y"]
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    keep(folder, X, y == 2)


def _rcv1_like(folder: Path) -> None:
    """20,000 documents over 47,236 terms, about 73 terms each, rows of length 1."""
    rng = np.random.default_rng(0)
    n_rows, n_features = 20_000, 47_236
    often = 1.0 / np.arange(10.0, n_features + 10.0)  # Zipf's law, without its few words that are in every text
    often /= often.sum()
    rarity = np.log(1.0 / often)
    lengths = np.clip(rng.lognormal(np.log(62.0), 0.55, n_rows), 8, 600).astype(int)  # of mean 73
    rows = []
    for length in lengths:
        terms = np.unique(rng.choice(n_features, size=3 * length, p=often))
        rows.append(rng.permutation(terms)[:length])
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.concatenate(rows)
    counts = rng.geometric(0.6, len(columns))
    X = sparse.csr_matrix(((1.0 + np.log(counts)) * rarity[columns], columns, starts), shape=(n_rows, n_features))
    X = sparse.csr_matrix(X.multiply(1.0 / norm(X, axis=1)[:, None]))
    planted = np.where(rng.random(n_features) < 0.1, rng.normal(size=n_features), 0.0)
    scores = X @ planted
    keep(folder, X, scores + 0.3 * scores.std() * rng.normal(size=n_rows) > np.median(scores))


def _dense_like(folder: Path) -> None:
    """400,000 x 2,000 in single precision, correlated columns, rows of length 1: 3.2 GB."""
    rng = np.random.default_rng(0)
    n_rows, n_features, n_factors, step = 400_000, 2_000, 100, 10_000
    loadings = rng.standard_normal((n_factors, n_features), dtype=np.float32)
    loadings *= (1.0 / np.sqrt(np.arange(1.0, n_factors + 1.0)))[:, None].astype(np.float32)
    planted = rng.standard_normal(n_features, dtype=np.float32)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n_rows, n_features))
    positive = np.zeros(n_rows, dtype=bool)
    for top in range(0, n_rows, step):
        block = rng.standard_normal((step, n_features), dtype=np.float32)
        block += rng.standard_normal((step, n_factors), dtype=np.float32) @ loadings
        block /= np.linalg.norm(block, axis=1, keepdims=True)
        scores = block @ planted
        positive[top : top + step] = scores + 0.5 * scores.std() * rng.standard_normal(step) > 0.0
        X[top : top + step] = block
    X.flush()
    np.save(folder / "y.npy", np.where(positive, 1.0, -1.0))


RECIPES: dict[str, Recipe] = {
    "rcv1-small": _svmlight("rcv1-small.bz2", 47_236),
    "reuters": _svmlight("reuters-lasvm.bz2", 8_315),
    "a9a": _svmlight("a9a.bz2", 123),
    "news20-unigrams": _newsgroups(1),
    "news20-bigrams": _newsgroups(2),
    "rcv1-like": _rcv1_like,
    "covtype": _covtype,
    "dense-like": _dense_like,
}
LARGE = ("dense-like",)
"""Sets of gigabytes, left out of a quick run unless named."""
