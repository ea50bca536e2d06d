"""Hashed n-grams of texts and k-mers of DNA: the counts of a naive reference, in every layout."""

import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer

from maxmargin._loops.features.counting import MOST_DIGITS, sort_keys
from maxmargin._loops.features.ngrams import hash_ngrams
from maxmargin.backends.threads import at_most
from maxmargin.errors import DataError, DataTypeError, ParameterError
from maxmargin.features import HashedNGrams, KMers

TEXTS = ["to be or not to be", "", "a", "  The_quick  brown\tfox, jumps!", "naïve café 日本語 naïve", "x" * 300]
sequences = st.lists(st.text(alphabet="ACGTN", max_size=60), min_size=1, max_size=6)


def hash_of(text):
    letters = np.frombuffer(text.encode(), dtype=np.uint8)
    hashes = np.empty(1, dtype=np.uint32)
    assert hash_ngrams(letters, np.array([0]), np.array([len(letters)]), 1, 1, hashes, 0) == 1
    return int(hashes[0])


# ---------------------------------------------------------------- the hash, and the sort


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0x00000000),
        ("hello", 0x248BFA47),
        ("hello, world", 0x149BBB7F),
        ("The quick brown fox jumps over the lazy dog", 0x2E4FF723),
    ],
)
def test_the_hash_has_the_published_values(text, value):
    assert hash_of(text) == value


SPREADS = {
    "even": lambda rng, n, highest: rng.integers(0, highest, n),
    "low": lambda rng, n, highest: np.minimum(rng.integers(0, 300, n), highest - 1),
    "mostly one": lambda rng, n, highest: np.where(rng.random(n) < 0.8, highest // 3, rng.integers(0, highest, n)),
    "falling": lambda rng, n, highest: np.sort(rng.integers(0, highest, n))[::-1],
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("n_bits", [1, 8, 9, 21, 32])
@pytest.mark.parametrize("n", [0, 1, 5, 48, 1000, 5000])
def test_keys_are_sorted_and_their_neighbours_left_alone(spread, n_bits, n, rng):
    keys = SPREADS[spread](rng, n + 6, 1 << n_bits).astype(np.uint32)
    before = keys.copy()
    sort_keys(keys, n, n_bits, np.empty(n, np.uint32), np.empty(MOST_DIGITS, np.int64))
    assert_array_equal(keys[:n], np.sort(before[:n]))
    assert_array_equal(keys[n:], before[n:])


# ---------------------------------------------------------------- hashed n-grams


def peer(phi):
    """scikit-learn's vectorizer with the same columns, on words as they are cut here."""
    return HashingVectorizer(
        n_features=phi.n_features,
        ngram_range=phi.ngram_range,
        analyzer=phi.analyzer,
        alternate_sign=phi.alternate_sign,
        norm=phi.norm,
        lowercase=False,
        token_pattern=r"[0-9A-Za-z_\u0080-\U0010ffff]+",
    )


@pytest.mark.parametrize("analyzer", ["word", "char"])
@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 3), (2, 4)])
@pytest.mark.parametrize("norm", [None, "l2"])
@pytest.mark.parametrize("alternate_sign", [True, False])
@pytest.mark.parametrize("n_features", [2, 1 << 10])
def test_columns_and_values_are_those_of_scikit_learn_s_hashing(
    analyzer, ngram_range, norm, alternate_sign, n_features
):
    phi = HashedNGrams(n_features, ngram_range, analyzer, alternate_sign, norm, "float64")
    texts = [re.sub(r"\s+", " ", text) for text in TEXTS]  # scikit-learn shortens blanks before it cuts characters
    assert_allclose(phi.transform(texts).toarray(), peer(phi).transform(texts).toarray(), rtol=1e-14)


def test_with_all_columns_there_are_the_column_is_the_size_of_the_hash():
    X = HashedNGrams(1 << 31, norm=None)(["the"])
    h = np.int64(np.uint32(hash_of("the")).view(np.int32))
    assert X.shape == (1, 1 << 31)
    assert X.indices.tolist() == [abs(h)]
    assert X.data.tolist() == [np.sign(h)]


@settings(max_examples=60)
@given(text=st.text(max_size=40), lengths=st.tuples(st.integers(1, 3), st.integers(0, 2)))
def test_characters_are_code_points(text, lengths):
    shortest, longest = lengths[0], lengths[0] + lengths[1]
    grams = [text[i : i + n] for n in range(shortest, longest + 1) for i in range(len(text) - n + 1)]
    counts = np.zeros(256)
    for gram in grams:
        h = np.int64(np.uint32(hash_of(gram)).view(np.int32))
        counts[abs(h) % 256] += 1 if h >= 0 else -1
    phi = HashedNGrams(256, (shortest, longest), "char", norm=None)
    assert_array_equal(phi.transform([text]).toarray()[0], counts)


def as_objects(texts):
    words = np.empty(len(texts), dtype=object)
    words[:] = texts
    return words


@pytest.mark.parametrize(
    "kind",
    [
        tuple,
        np.array,
        as_objects,
        lambda texts: [text.encode() for text in texts],
        lambda texts: np.array([text.encode() for text in texts]),
        lambda texts: np.array([text.encode() for text in [""] * 3 + texts])[3:],
        lambda texts: np.array([text.encode() for text in texts])[::-1][::-1],
    ],
)
@pytest.mark.parametrize("phi", [HashedNGrams(64, (1, 2), "char"), KMers(2)], ids=repr)
def test_texts_come_as_lists_arrays_and_bytes(kind, phi):
    texts = ["ACGT", "", "TTN", "CATCATCAT"]
    assert_array_equal(phi.transform(kind(texts)).toarray(), phi.transform(texts).toarray())


def test_a_matrix_of_bytes_has_a_text_in_each_row():
    matrix = np.frombuffer(b"ACGTTTGA", dtype=np.uint8).reshape(2, 4)
    for given_matrix in (matrix, np.asfortranarray(matrix), matrix.astype(np.float32), matrix.astype(int)):
        assert_array_equal(KMers(2)(given_matrix).toarray(), KMers(2)(["ACGT", "TTGA"]).toarray())


def test_zeros_at_the_end_of_a_row_of_bytes_are_no_letters():
    matrix = np.zeros((3, 6), dtype=np.float32)
    matrix[0, :4], matrix[2, :1] = list(b"ACGT"), list(b"T")
    for phi in (KMers(1), HashedNGrams(16, (1, 2), "char")):
        assert_array_equal(phi(matrix).toarray(), phi(["ACGT", "", "T"]).toarray())
    assert KMers(1)(np.zeros((2, 0))).nnz == 0
    for bad in (65.5, -1.0, 256.0, np.nan):
        matrix[1, 2] = bad
        with pytest.raises(DataError, match="row 1, column 2 is"):
            KMers(1)(matrix)


@pytest.mark.parametrize("dtype", ["float32", "float64", np.float32])
@pytest.mark.parametrize("phi", [HashedNGrams(64, (1, 3), "char"), KMers(3, gaps=1)], ids=repr)
def test_the_matrix_is_sorted_merged_and_without_zeros(phi, dtype, rng):
    texts = ["".join(rng.choice(list("ACGT"), size=size)) for size in rng.integers(0, 200, 30)]
    X = phi.set_params(dtype=dtype).transform(texts)
    again = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    assert again.has_canonical_format
    assert X.has_canonical_format
    assert X.dtype == dtype
    assert np.all(X.data != 0)


def test_n_grams_of_one_column_and_opposite_signs_cancel():
    columns = {}
    for letter in map(chr, range(97, 123)):
        h = np.int64(np.uint32(hash_of(letter)).view(np.int32))
        columns.setdefault(abs(h) % 8, {}).setdefault(bool(h >= 0), letter)
    plus, minus = next((found[True], found[False]) for found in columns.values() if len(found) == 2)
    X = HashedNGrams(8, norm=None)([f"{plus} {minus}", f"{plus} {plus} {minus}"])
    assert X[0].nnz == 0
    assert X[1].data.tolist() == [1.0]
    assert HashedNGrams(8)([f"{plus} {minus}"]).nnz == 0  # no row of length 1 to be had


@pytest.mark.parametrize("phi", [HashedNGrams(1 << 12, (1, 2)), KMers(3), KMers(3, dense=True, norm="l2")], ids=repr)
def test_features_do_not_depend_on_threads_or_on_how_texts_come_in_blocks(phi, rng):
    texts = ["".join(rng.choice(list("ACGT-"), size=size)) for size in rng.integers(0, 90, 50)]
    dense = np.asarray if getattr(phi, "dense", False) else lambda X: X.toarray()
    whole = dense(phi(texts))
    with at_most(3):
        assert_array_equal(dense(phi(texts)), whole)
    assert_array_equal(np.vstack([dense(phi(texts[top : top + 7])) for top in range(0, 50, 7)]), whole)
    assert phi([]).shape == (0, phi.output_features(0))


# ---------------------------------------------------------------- k-mers

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def naive_kmers(sequence, phi):
    """Every way to take up to k letters from every window, spelled out."""
    counts = Counter()
    for k in range(phi.shortest or phi.k, phi.k + 1):
        for span in range(k, k + phi.gaps + 1) if k > 1 else [1]:
            for inner in combinations(range(1, span - 1), max(k - 2, 0)):
                places = {0, *inner, span - 1}
                if len(places) != k:
                    continue
                for start in range(len(sequence) - span + 1):
                    window = sequence[start : start + span]
                    if "N" in window:
                        continue
                    gram = "".join(letter if j in places else "." for j, letter in enumerate(window))
                    counts[gram] += 1
    return counts


@pytest.mark.parametrize(
    "phi",
    [KMers(1), KMers(3), KMers(4, shortest=1), KMers(3, gaps=2), KMers(3, shortest=1, gaps=1), KMers(2, gaps=3)],
    ids=repr,
)
@settings(max_examples=25)
@given(texts=sequences)
def test_counts_are_those_of_the_naive_reference(phi, texts):
    names = phi.names()
    counts = phi.transform(texts).toarray()
    assert counts.shape == (len(texts), phi.output_features(0))
    for row, text in zip(counts, texts, strict=True):
        assert {names[j]: row[j] for j in np.flatnonzero(row)} == naive_kmers(text, phi)


def repetitive(rng):
    """Sequences short and long, most of them even, some of few letters, some with unknown ones."""
    texts = ["".join(rng.choice(list("ACGT"), size=size)) for size in [0, 1, 3, 20, 90, 400, 3000]]
    texts += ["A" * 500, "A" * 300 + "".join(rng.choice(list("ACGT"), size=300)), "N" * 50, "ANCN" * 30, "ACGT" * 200]
    return texts + ["".join(rng.choice(list("ACGTN"), size=size)) for size in rng.integers(0, 200, 40)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("norm", [None, "l2"])
@pytest.mark.parametrize("k", [1, 3, 6, 10])
def test_sequences_of_every_length_have_exactly_the_entries_of_the_naive_reference(k, norm, dtype, rng):
    texts = repetitive(rng)
    columns, values, starts = [], [], [0]
    for text in texts:
        counts = naive_kmers(text, KMers(k))
        found = sorted((int(gram.translate(str.maketrans("ACGT", "0123")), 4), n) for gram, n in counts.items())
        length = np.sqrt(sum(float(n) * n for _, n in found)) if norm and found else 1.0
        columns += [column for column, _ in found]
        values += [n * (1.0 / length) for _, n in found]
        starts.append(len(columns))
    for threads in (1, 2, 5):
        with at_most(threads):
            X = KMers(k, norm=norm, dtype=dtype)(texts)
        assert_array_equal(X.indptr, starts)
        assert_array_equal(X.indices, columns)
        assert_array_equal(X.data, np.array(values).astype(dtype))


@pytest.mark.parametrize("phi", [KMers(1, length=60), KMers(3, shortest=1, gaps=1, length=60)], ids=repr)
def test_the_number_of_threads_leaves_no_gaps_where_letters_are_unknown(phi, rng):
    texts = ["".join(rng.choice(list("ACGTN"), size=60)) for _ in range(31)]
    apart = sparse.vstack([phi([text]) for text in texts], format="csr")
    for threads in (1, 2, 7):
        with at_most(threads):
            X = phi(texts)
        assert X.has_canonical_format
        for part in ("data", "indices", "indptr"):
            assert_array_equal(getattr(X, part), getattr(apart, part))


@pytest.mark.parametrize("phi", [KMers(4), KMers(3, shortest=1), KMers(3, gaps=2)], ids=repr)
@settings(max_examples=25)
@given(texts=sequences)
def test_both_strands_count_together_where_that_is_asked_for(phi, texts):
    both = KMers(phi.k, phi.shortest, phi.gaps, reverse_complement=True)
    names = phi.names()
    place = {gram: j for j, gram in enumerate(names)}
    opposite = [place[gram.translate(COMPLEMENT)[::-1]] for gram in names]
    plain = phi.transform(texts).toarray()
    expected = np.zeros_like(plain)
    np.add.at(expected, (slice(None), np.minimum(np.arange(len(names)), opposite)), plain)
    assert_array_equal(both.transform(texts).toarray(), expected)
    others = [text.translate(COMPLEMENT)[::-1] for text in texts]
    assert_array_equal(both.transform(others).toarray(), expected)


@pytest.mark.parametrize("norm", [None, "l2"])
@pytest.mark.parametrize("both", [False, True])
def test_a_dense_result_holds_the_same_counts(norm, both, rng):
    texts = ["".join(rng.choice(list("ACGTN"), size=size)) for size in [0, 1, 5, 80, 200]]
    thin = KMers(3, shortest=2, gaps=1, norm=norm, reverse_complement=both, dtype="float64")
    thick = KMers(3, shortest=2, gaps=1, norm=norm, reverse_complement=both, dtype="float64", dense=True)
    assert isinstance(thick(texts), np.ndarray)
    assert_allclose(thick(texts), thin(texts).toarray(), rtol=1e-14)
    if norm == "l2":
        assert_allclose(np.linalg.norm(thick(texts), axis=1)[2:], 1.0, rtol=1e-14)


def test_the_longest_k_mers_and_windows_have_their_columns(rng):
    letters = rng.integers(0, 4, 40)
    text = "".join("ACGT"[letter] for letter in letters)
    X = KMers(15)([text])
    numbers = [int("".join(map(str, letters[j : j + 15])), 4) for j in range(26)]
    assert X.shape == (1, 4**15)
    assert_array_equal(X.indices, np.sort(numbers))
    wide = KMers(2, gaps=30)([text[:32]])
    assert wide.indices.max() == 16 * 30 + 4 * letters[0] + letters[31]


@pytest.mark.parametrize("phi", [KMers(1, length=9), KMers(3, shortest=1, gaps=1, length=9)], ids=repr)
@settings(max_examples=25)
@given(texts=st.lists(st.text(alphabet="ACGTN", min_size=9, max_size=9), min_size=1, max_size=5))
def test_with_a_length_every_place_has_its_own_columns(phi, texts):
    names = phi.names()
    counts = phi.transform(texts).toarray()
    assert counts.shape == (len(texts), len(names)) == (len(texts), phi.output_features(0))
    whole = KMers(phi.k, phi.shortest, phi.gaps)
    for row, text in zip(counts, texts, strict=True):
        found = {names[j] for j in np.flatnonzero(row)}
        for name in found:
            gram, _, start = name.partition("@")
            assert re.match(gram, text[int(start) :])
        assert set(row) <= {0.0, 1.0}
        assert Counter(name.partition("@")[0] for name in found) == naive_kmers(text, whole)


@settings(max_examples=25)
@given(texts=st.lists(st.text(alphabet="ACGTN", min_size=8, max_size=8), min_size=1, max_size=5))
def test_places_count_from_the_other_end_on_the_other_strand(texts):
    phi = KMers(2, shortest=1, gaps=1, reverse_complement=True, length=8)
    others = [text.translate(COMPLEMENT)[::-1] for text in texts]
    assert_array_equal(phi(others).toarray(), phi(texts).toarray())


def test_one_letter_at_each_place_is_a_quarter_of_the_columns():
    X = KMers(1, length=4)(["ACGT", "TTTT"]).toarray()
    assert_array_equal(X.reshape(2, 4, 4), [np.eye(4), np.tile(np.eye(4)[3], (4, 1))])


def test_small_letters_and_uracil_are_read_and_unknown_bases_skipped():
    X = KMers(2, dense=True)
    assert_array_equal(X(["acgu"]), X(["ACGT"]))
    for unknown in "NnRYSWKMBDHV-.":
        assert_array_equal(X([f"AC{unknown}GT"]), X(["AC"]) + X(["GT"]))


def test_other_letters_are_refused_with_their_place():
    with pytest.raises(DataError, match=r"sequence 2 has b'E' at position 1.*no letter of DNA"):
        KMers(2)(["ACGT", "", "AEE", "Z"])
    with pytest.raises(DataError, match=r"sequence 0 has b'\\n' at position 4"):
        KMers(2)(["ACGT\n"])
    with pytest.raises(DataError, match=r"sequence 1 has b'\\n' at position 4"):
        KMers(2, length=4)(["ACGT", "ACGT\n"])
    with at_most(4), pytest.raises(DataError, match="sequence 30 has b'X' at position 3"):
        KMers(2)(["ACGT"] * 30 + ["ACGX", "", "XXXX", "ACGT"])
    with pytest.raises(DataError, match="sequence 1 has b'X' at position 0"):
        KMers(2, dense=True)(["ACGT", "X"])
    with pytest.raises(DataError, match="sequence 1 has 3 letters, and length=4"):
        KMers(2, length=4)(["ACGT", "ACG"])


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("phi", [HashedNGrams(8), KMers(2)], ids=lambda phi: type(phi).__name__)
def test_what_is_no_list_of_texts_is_refused(phi):
    with pytest.raises(DataError, match="the single text 'ACGT'"):
        phi("ACGT")
    with pytest.raises(DataError, match="sparse matrix"):
        phi(sparse.csr_array((2, 2)))
    with pytest.raises(DataError, match=r"shape \(2, 1\)"):
        phi(np.array([["A"], ["C"]]))
    with pytest.raises(DataTypeError, match="3 of type int at position 1"):
        phi(["A", 3])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HashedNGrams(1000), "power of two.*n_features=1000. The next one is 1024"),
        (lambda: HashedNGrams(1 << 32), r"at most 2\*\*31"),
        (lambda: HashedNGrams(8, (2, 1)), r"ngram_range must be a pair"),
        (lambda: HashedNGrams(8, (0, 1)), "ngram_range must be an integer, at least 1"),
        (lambda: HashedNGrams(8, analyzer="letters"), "analyzer must be 'word' or 'char'"),
        (lambda: HashedNGrams(8, norm="l1"), "norm must be None"),
        (lambda: HashedNGrams(8, dtype="int8"), "dtype must be 'float32' or 'float64'"),
        (lambda: KMers(0), "k must be an integer, at least 1"),
        (lambda: KMers(16), "k must be at most 15"),
        (lambda: KMers(3, shortest=4), "shortest must be at most k=3"),
        (lambda: KMers(3, gaps=30), r"k \+ gaps at most 32"),
        (lambda: KMers(12, gaps=10), "Lower k or gaps"),
        (lambda: KMers(14, gaps=1), "more than can be numbered"),
        (lambda: KMers(12, length=1000), "length=1000 make .* columns, more than can be numbered"),
        (lambda: KMers(3, gaps=1, length=3), r"length must be at least k \+ gaps = 4"),
        (lambda: KMers(3, dtype="words"), "dtype must be"),
    ],
)
def test_bad_parameters_are_refused_in_words(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
