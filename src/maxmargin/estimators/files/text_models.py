"""Machines as records of the model files of LIBSVM and LIBLINEAR, and back.

Neither file holds C, nu or epsilon: a model read from one has the defaults of these parameters, and no certificate,
because the file makes no claim that could be checked.

    LIBSVM                                        here
    label a b, f positive for a                   classes_ = [b, a], f positive for the second
    label a b c ..., f of a pair positive         classes_ = [a, b, c, ...], the same
      for its first class
    sv_coef                                       dual_coef_, with the same layout
    rho                                           -intercept_, or offset_ of OneClassSVM
    P(first of a pair) = 1 / (1 + exp(A f + B))   probA_, probB_

The order of the classes is kept because it decides between classes with equally many votes. A file holds no data but
the support vectors: a model read from one has -1 for the positions `support_`.

    LIBLINEAR                               here
    label a b, score positive for a         classes_ = [b, a], score positive for the second
    label a b c ..., largest score wins     classes_ = [a, b, c, ...], the same
    w, without its last line                coef_, transposed
    bias * last line of w                   intercept_, with intercept="augmented" and intercept_scaling=bias
    MCSVM_CS with two classes, w_a = -w_b   coef_ = w_a - w_b
    ONECLASS_SVM, <w, x> - rho              OneClassSVM(kernel="linear") with w as its one support vector

Logistic regression of several classes is one model a class there, its probabilities sigmoids divided by their sum; it
is a softmax here. A model read from such a file keeps their probabilities, and a softmax is not written to one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.errors import ModelFileError, ParameterError
from maxmargin.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed, Sigmoid, as_kernel
from maxmargin.models.liblinear import ONE_CLASS
from maxmargin.models.text import MOST

_LIBSVM_TYPES = {
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
_LIBLINEAR_TYPES: dict[str, tuple[str, dict[str, Any]]] = {
    "L2R_LR": ("LogisticRegression", {"penalty": "l2", "dual": False}),
    "L2R_LR_DUAL": ("LogisticRegression", {"penalty": "l2", "dual": True}),
    "L1R_LR": ("LogisticRegression", {"penalty": "l1", "dual": False}),
    "MCSVM_CS": ("LinearSVC", {"multi_class": "crammer_singer"}),
    "L2R_L2LOSS_SVC": ("LinearSVC", {"penalty": "l2", "loss": "squared_hinge", "dual": False, "multi_class": "ovr"}),
    "L2R_L2LOSS_SVC_DUAL": (
        "LinearSVC",
        {"penalty": "l2", "loss": "squared_hinge", "dual": True, "multi_class": "ovr"},
    ),
    "L2R_L1LOSS_SVC_DUAL": ("LinearSVC", {"penalty": "l2", "loss": "hinge", "dual": True, "multi_class": "ovr"}),
    "L1R_L2LOSS_SVC": ("LinearSVC", {"penalty": "l1", "loss": "squared_hinge", "dual": False, "multi_class": "ovr"}),
    "L2R_L2LOSS_SVR": ("LinearSVR", {"loss": "squared_epsilon_insensitive", "dual": False}),
    "L2R_L2LOSS_SVR_DUAL": ("LinearSVR", {"loss": "squared_epsilon_insensitive", "dual": True}),
    "L2R_L1LOSS_SVR_DUAL": ("LinearSVR", {"loss": "epsilon_insensitive", "dual": True}),
}


def from_libsvm(record: dict[str, Any], n_features: int | None) -> Any:
    """The estimator that predicts what LIBSVM predicts with this record; `n_features` where the file has fewer."""
    from maxmargin import estimators

    kernel_type = record["kernel_type"]
    name = _OUR_NAMES.get(kernel_type, kernel_type)
    parameters = {key: record[key] for key in ("degree", "gamma", "coef0") if key in record}
    model = getattr(estimators, _LIBSVM_TYPES[record["svm_type"]])(kernel=name, **parameters)
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
    kind = {ours: theirs for theirs, ours in _LIBSVM_TYPES.items()}.get(type(model).__name__)
    if kind is None:
        raise ModelFileError(
            f"LIBSVM has no model for {type(model).__name__}; it has {', '.join(_LIBSVM_TYPES.values())}. "
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


def from_liblinear(record: dict[str, Any], n_features: int | None) -> Any:
    """The estimator that predicts what LIBLINEAR predicts with this record."""
    from maxmargin import estimators

    if record["solver_type"] == ONE_CLASS:
        return from_libsvm(_as_libsvm(record), n_features)
    name, parameters = _LIBLINEAR_TYPES[record["solver_type"]]
    model = getattr(estimators, name)(**parameters)
    n_written, bias, w = record["nr_feature"], record["bias"], record["w"]
    if n_features is not None and n_features < n_written:
        raise ParameterError(f"n_features={n_features} is less than {n_written}, the features that the file has.")
    width = n_written if n_features is None else n_features
    if bias > 0.0:
        model.intercept, model.intercept_scaling = "augmented", bias
    else:
        model.fit_intercept = False
    weights, constants = w[:n_written].T, bias * w[n_written] if bias > 0.0 else np.zeros(w.shape[1])
    if record["nr_class"] == 2:  # a file of Crammer and Singer's machine predicts by its first score alone
        factor = 2.0 if w.shape[1] == 2 else 1.0
        weights, constants = factor * weights[:1], factor * constants[:1]
    coef = np.zeros((len(constants), width))
    coef[:, :n_written] = weights
    model.coef_, model.intercept_ = coef[0] if name == "LinearSVR" else coef, constants.copy()
    model.n_features_in_ = width
    n_classes = record["nr_class"]
    if "label" in record:
        model.classes_ = record["label"][::-1].copy() if n_classes == 2 else record["label"]
    together = record["solver_type"] == "MCSVM_CS" and n_classes > 2
    # Without multipliers: none of the rows is known.
    model._support = [np.empty(0, dtype=np.int64)] * (1 if together else len(coef))
    model._coefficients = [np.empty((0, n_classes) if together else 0)] * len(model._support)
    return model


def _as_libsvm(record: dict[str, Any]) -> dict[str, Any]:
    """A one-class machine as LIBSVM would have it if w were its one support vector, with the coefficient 1."""
    n_written, w = record["nr_feature"], record["w"]
    constant = record["bias"] * w[n_written] if record["bias"] >= 0.0 else np.zeros(1)
    return {
        "svm_type": "one_class",
        "kernel_type": "linear",
        "total_sv": 1,
        "rho": record["rho"] - constant,
        "sv_coef": np.ones((1, 1)),
        "SV": sparse.csr_matrix(w[:n_written].T),
    }


def to_liblinear(model: Any) -> dict[str, Any]:
    """The record with which LIBLINEAR predicts what the estimator predicts."""
    if type(model).__name__ == "OneClassSVM" and isinstance(model._kernel, Linear):
        coef = model.coef_
        w = (coef.toarray() if sparse.issparse(coef) else np.asarray(coef)).T
        rho = float(np.ravel(model.offset_)[0])
        return {"solver_type": ONE_CLASS, "nr_class": 2, "nr_feature": len(w), "bias": -1.0, "rho": rho, "w": w}
    kind = _liblinear_type(model)
    has_bias = bool(model.fit_intercept)
    bias = -1.0
    if has_bias:
        bias = float(model.intercept_scaling) if model.intercept == "augmented" else 1.0
    weights: Matrix = model._dense_coef().T
    w = np.vstack([weights, model.intercept_ / bias]) if has_bias else weights
    record = {"solver_type": kind, "nr_class": 2, "nr_feature": len(weights), "bias": bias}
    if hasattr(model, "classes_"):
        labels = integer_labels(model.classes_, "LIBLINEAR")
        record |= {"nr_class": len(labels), "label": labels[::-1] if len(labels) == 2 else labels}
        if kind == "MCSVM_CS" and len(labels) == 2:
            w = np.hstack([0.5 * w, -0.5 * w])
    return {**record, "w": w}


def _liblinear_type(model: Any) -> str:
    """LIBLINEAR's name for what was minimised."""
    ours = type(model).__name__
    if ours not in {name for name, _ in _LIBLINEAR_TYPES.values()}:
        raise ModelFileError(
            f"LIBLINEAR has no model for {ours}; it has LinearSVC, LinearSVR, LogisticRegression, and OneClassSVM with "
            "the linear kernel. Use format='native'."
        )
    if ours == "LogisticRegression" and len(model.classes_) > 2 and not model._one_versus_rest:
        raise ModelFileError(
            "LIBLINEAR has no softmax: its logistic regression of several classes is one model a class, with other "
            "probabilities. Use format='native'."
        )
    given = model.get_params(deep=False)
    if ours == "LogisticRegression":
        given |= {"penalty": "l1" if given["penalty"] == "l1" or given["l1_ratio"] == 1 else "l2"}
    fitting = [
        kind
        for kind, (name, parameters) in _LIBLINEAR_TYPES.items()
        if name == ours and all(given[key] == value for key, value in parameters.items() if key != "dual")
    ]
    if not fitting:
        raise ModelFileError(
            f"LIBLINEAR has no {ours} with penalty={given.get('penalty')!r} and loss={given.get('loss')!r}. "
            "Use format='native'."
        )
    wanted = bool(given["dual"])  # "auto" is True: the multipliers are found, too
    return next((kind for kind in fitting if _LIBLINEAR_TYPES[kind][1].get("dual") == wanted), fitting[0])
