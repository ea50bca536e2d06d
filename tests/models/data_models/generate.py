"""Make the reference model files and their predictions with the libraries whose formats these are.

    python generate.py rows         where scikit-learn is installed
    python generate.py libsvm       where libsvm-official is installed
    python generate.py liblinear    where liblinear-official is installed

Each model is trained, written, read back and applied by its own library; `rows.npz` holds the rows.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

HERE = Path(__file__).parent

LIBSVM = {
    "libsvm_iris_rbf.model": ("iris", "-s 0 -t 2 -g 0.5 -c 2 -b 1"),
    "libsvm_iris_polynomial.model": ("iris", "-s 0 -t 1 -g 0.25 -r 1 -d 2 -c 0.1"),
    "libsvm_iris_nu_sigmoid.model": ("iris", "-s 1 -t 3 -g 0.01 -r -0.5 -n 0.4"),
    "libsvm_words_linear.model": ("words", "-s 0 -t 0 -c 0.5"),
    "libsvm_words_rbf.model": ("words", "-s 1 -t 2 -g 0.2 -n 0.3 -b 1"),
    "libsvm_words_precomputed.model": ("words_kernel", "-s 0 -t 4 -c 1"),
    "libsvm_houses_one_class.model": ("houses", "-s 2 -t 2 -g 0.3 -n 0.2"),
    "libsvm_houses_epsilon.model": ("houses", "-s 3 -t 2 -g 0.1 -c 3 -p 0.2 -b 1"),
    "libsvm_houses_nu.model": ("houses", "-s 4 -t 0 -c 1 -n 0.4"),
}
LIBLINEAR = {
    "liblinear_iris_0.model": ("iris", "-s 0 -B 1"),
    "liblinear_iris_1.model": ("iris", "-s 1 -B 1 -e 1e-3"),
    "liblinear_iris_4.model": ("iris", "-s 4"),
    "liblinear_words_2.model": ("words", "-s 2"),
    "liblinear_words_3.model": ("words", "-s 3 -B 2.5"),
    "liblinear_words_4.model": ("words", "-s 4 -B 1"),
    "liblinear_words_5.model": ("words", "-s 5 -B 0"),
    "liblinear_words_6.model": ("words", "-s 6 -B 1"),
    "liblinear_words_7.model": ("words", "-s 7"),
    "liblinear_houses_11.model": ("houses", "-s 11 -B 1 -p 0.1"),
    "liblinear_houses_12.model": ("houses", "-s 12 -p 0.1"),
    "liblinear_houses_13.model": ("houses", "-s 13 -B 1 -p 0.1"),
    "liblinear_houses_21.model": ("houses", "-s 21 -n 0.3"),
}


def make_rows():
    """Iris, a sparse problem with two classes, and a regression; all few and rounded, so that the files stay small."""
    from sklearn.datasets import load_iris

    rng = np.random.default_rng(5)
    flowers, species = load_iris(return_X_y=True)
    words = np.where(rng.uniform(size=(60, 30)) < 0.1, np.round(rng.uniform(0.5, 3, (60, 30)), 3), 0.0)
    sides = np.where(words @ rng.standard_normal(30) + 0.3 * rng.standard_normal(60) > 0, 7, 2)
    sides[0] = 7  # seen first, so LIBSVM and LIBLINEAR name it first
    houses = np.round(rng.standard_normal((50, 8)), 3)
    prices = np.round(houses @ rng.standard_normal(8) + np.sin(houses[:, 0]) + 0.2 * rng.standard_normal(50), 4)
    order = rng.permutation(150)[:60]
    np.savez_compressed(
        HERE / "rows.npz",
        iris_X=flowers[order],
        iris_y=np.array([9, 4, 6])[species[order]],  # not sorted in the order in which they are seen
        words_X=words,
        words_y=sides,
        words_kernel_X=words @ words.T,
        words_kernel_y=sides,
        houses_X=houses,
        houses_y=prices,
    )


def generate(kind):
    rows = np.load(HERE / "rows.npz")
    expected = {}
    for name, (data, options) in (LIBSVM if kind == "libsvm" else LIBLINEAR).items():
        X, y, path = rows[f"{data}_X"], rows[f"{data}_y"].astype(float), str(HERE / name)
        if kind == "libsvm":
            from libsvm import svmutil

            nodes = sparse.csr_matrix(X)
            if data == "words_kernel":  # a row begins with its number, which counts from 1
                nodes = [dict(enumerate([number, *row])) for number, row in enumerate(X.tolist(), 1)]
            svmutil.svm_save_model(path, svmutil.svm_train(y.tolist(), nodes, options + " -q"))
            # libsvm-official 3.37 crashes when it applies a nu_svc file of several classes, so a twin of type c_svc is
            # applied instead: the decision is the same sum.
            twin = Path(tempfile.gettempdir(), name)
            twin.write_text(Path(path).read_text().replace("svm_type nu_svc", "svm_type c_svc"))
            model = svmutil.svm_load_model(str(twin))
            labels, _, scores = svmutil.svm_predict([], nodes, model, "-q")
            if "-b 1" in options and "-s 3" not in options:
                expected[f"{name}:probabilities"] = np.array(svmutil.svm_predict([], nodes, model, "-b 1 -q")[2])
        else:
            from liblinear import liblinearutil

            given = sparse.csr_matrix(X)
            liblinearutil.save_model(path, liblinearutil.train(y, given, options + " -q"))
            model = liblinearutil.load_model(path)
            labels, _, scores = liblinearutil.predict([], given, model, "-q")
            if model.is_probability_model():
                expected[f"{name}:probabilities"] = np.array(liblinearutil.predict([], given, model, "-b 1 -q")[2])
        expected[f"{name}:labels"] = np.array(labels)
        expected[f"{name}:scores"] = np.array(scores)
    np.savez_compressed(HERE / f"{kind}.npz", **expected)


if __name__ == "__main__":
    make_rows() if sys.argv[1] == "rows" else generate(sys.argv[1])
