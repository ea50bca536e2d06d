"""Kernel machines as records of LIBSVM's model files, and back.

    LIBSVM                                        here
    label a b, f positive for a                   classes_ = [b, a], f positive for the second
    label a b c ..., f of a pair positive         classes_ = [a, b, c, ...], the same
      for its first class
    sv_coef                                       dual_coef_, with the same layout
    rho                                           -intercept_, or offset_ of OneClassSVM
    P(first of a pair) = 1 / (1 + exp(A f + B))   probA_, probB_

The order of the classes is kept because it decides between classes with equally many votes. A file holds no data but
the support vectors, and not C, nu or epsilon: a model read from one has the defaults of these parameters, -1 for the
positions `support_`, and no certificate, because the file makes no claim that could be checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.errors import ModelFileError, ParameterError
from maxmargin.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed, Sigmoid, as_kernel
from maxmargin.models.text import MOST

_TYPES = {
    "c_svc": "SVC",
    "nu_svc": "NuSVC",
    "one_class": "OneClassSVM",
    "epsilon_svr": "SVR",
    "nu_svr": "NuSVR",
}
_KERNELS: dict[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": Gaussian,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
}
_OUR_NAMES = {"polynomial": "poly"}
_DENSE_FROM = 1 / 3  # share of values that are not zero, from which on a dense matrix of them is no larger


def from_libsvm(record: dict[str, Any], n_features: int | None) -> Any:
    """The estimator that predicts what LIBSVM predicts with this record; `n_features` where the file has fewer."""
    from maxmargin import estimators

    kernel_type = record["kernel_type"]
    name = _OUR_NAMES.get(kernel_type, kernel_type)
    parameters = {key: record[key] for key in ("degree", "gamma", "coef0") if key in record}
    model = getattr(estimators, _TYPES[record["svm_type"]])(kernel=name, **parameters)
    try:
        model._kernel = as_kernel(name, **parameters)
    except ParameterError as error:
        raise ModelFileError(f"the file describes a kernel that cannot be: {error}") from error
    order = np.arange(record["total_sv"])
    if "label" in record:
        order = _add_classes(model, record)
    else:
        model.n_support_ = np.array([record["total_sv"]], dtype=np.int32)
    model.intercept_ = -record["rho"]
    if record["svm_type"] == "one_class":
        model.offset_ = record["rho"]
    coefficients = record["sv_coef"][:, order]
    if kernel_type == "precomputed":
        model.support_ = (record["SV"][order] - 1).astype(np.int32)
        model.support_vectors_, model.dual_coef_, model.shape_fit_ = np.empty((0, 0)), coefficients, (0, 0)
        return model
    vectors = _widened(record["SV"], n_features)[order]
    is_dense = vectors.nnz >= _DENSE_FROM * vectors.shape[0] * vectors.shape[1]
    model.support_ = np.full(record["total_sv"], -1, dtype=np.int32)
    model.support_vectors_ = vectors.toarray() if is_dense else vectors
    model.dual_coef_ = coefficients if is_dense else sparse.csr_matrix(coefficients)
    model.shape_fit_ = (0, vectors.shape[1])
    model.n_features_in_ = vectors.shape[1]
    return model


def _add_classes(model: Any, record: dict[str, Any]) -> RowIndex:
    """Classes and sigmoids; returns the order of the support vectors, class by class."""
    labels, counts = record["label"], record["nr_sv"].astype(np.int32)
    order = np.arange(record["total_sv"])
    if len(labels) == 2:
        labels, counts, order = labels[::-1], counts[::-1], np.roll(order, -int(counts[0]))
    model.classes_, model.n_support_ = labels.copy(), counts.copy()
    model.class_weight_ = np.ones(len(labels))
    model._slopes = np.empty(0)
    if "probA" in record and "probB" in record:
        model.probability = True
        model._slopes = -record["probA"]
        if np.any(record["probB"]):  # without shifts the sigmoids are of the kind that is fitted here
            model._shifts = record["probB"]
    return order


def _widened(vectors: Any, n_features: int | None) -> Any:
    """Support vectors with columns for all features: a file names only those that are not zero."""
    if n_features is None:
        return vectors
    if n_features < vectors.shape[1]:
        raise ParameterError(
            f"n_features={n_features} is less than {vectors.shape[1]}, the last feature that the file has."
        )
    return sparse.csr_matrix((vectors.data, vectors.indices, vectors.indptr), shape=(vectors.shape[0], n_features))


def to_libsvm(model: Any) -> dict[str, Any]:
    """The record with which LIBSVM predicts what the estimator predicts."""
    kind = {ours: theirs for theirs, ours in _TYPES.items()}.get(type(model).__name__)
    if kind is None:
        raise ModelFileError(
            f"LIBSVM has no model for {type(model).__name__}; it has {', '.join(_TYPES.values())}. "
            "Use format='native', or format='liblinear' for a linear machine."
        )
    record = {"svm_type": kind, **_kernel_words(model._kernel)}
    order = np.arange(len(model.support_))
    coefficients = model._dual()
    if kind in ("c_svc", "nu_svc"):
        labels, counts = integer_labels(model.classes_, "LIBSVM"), model.n_support_.astype(np.int64)
        if len(labels) == 2:
            labels, counts, order = labels[::-1], counts[::-1], np.roll(order, -int(counts[0]))
        record |= {"label": labels, "nr_sv": counts} | _sigmoids(model)
    return record | {
        "nr_class": coefficients.shape[0] + 1,
        "total_sv": len(order),
        "rho": -np.asarray(model.intercept_, dtype=np.float64),
        "sv_coef": coefficients[:, order],
        "SV": _numbers_or_vectors(model, order),
    }


def _kernel_words(kernel: Kernel) -> dict[str, Any]:
    """Kernel as a file names it."""
    words = [word for word, kind in _KERNELS.items() if type(kernel) is kind]
    degree = getattr(kernel, "degree", 0)
    if not words or not isinstance(degree, int):
        raise ModelFileError(
            f"LIBSVM has no kernel {kernel}; it has {', '.join(_KERNELS)}, with whole degrees. Use format='native'."
        )
    return {"kernel_type": words[0], **vars(kernel)}


def _sigmoids(model: Any) -> dict[str, Vector]:
    return {"probA": model.probA_, "probB": model.probB_} if len(model._slopes) else {}


def _numbers_or_vectors(model: Any, order: RowIndex) -> Rows:
    if model._kernel.on == "matrix":
        return model.support_[order].astype(np.int64) + 1
    vectors = sparse.csr_matrix(model.support_vectors_, dtype=np.float64)[order]
    vectors.sum_duplicates()
    vectors.eliminate_zeros()
    return vectors


def integer_labels(classes: Labels, format_name: str) -> RowIndex:
    """Labels as the whole numbers that the text formats have room for."""
    labels = np.asarray(classes)
    if labels.dtype.kind not in "iufb" or np.any(labels != np.rint(labels)) or np.max(np.abs(labels)) > MOST:
        raise ModelFileError(
            f"{format_name} names classes by whole numbers of 32 bits, and the labels are {labels.tolist()[:5]}. "
            "Train with such labels, or use format='native'."
        )
    return labels.astype(np.int64)
