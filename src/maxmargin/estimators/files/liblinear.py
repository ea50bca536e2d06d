"""Linear machines as records of LIBLINEAR's model files, and back.

    LIBLINEAR                               here
    label a b, score positive for a         classes_ = [b, a], score positive for the second
    label a b c ..., largest score wins     classes_ = [a, b, c, ...], the same
    w, without its last line                coef_, transposed
    bias * last line of w                   intercept_, with intercept="augmented" and intercept_scaling=bias
    MCSVM_CS with two classes, w_a = -w_b   coef_ = w_a - w_b
    ONECLASS_SVM, <w, x> - rho              OneClassSVM(kernel="linear") with w as its one support vector

Logistic regression of several classes is one model a class there, its probabilities sigmoids divided by their sum; it
is a softmax here. A model read from such a file keeps their probabilities, and a softmax is not written to one.

A file does not hold C or epsilon: a model read from one has the defaults of these parameters, and no certificate,
because the file makes no claim that could be checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Matrix
from maxmargin.errors import ModelFileError, ParameterError
from maxmargin.estimators.files.libsvm import from_libsvm, integer_labels
from maxmargin.kernels import Linear
from maxmargin.models.liblinear import ONE_CLASS

_TYPES: dict[str, tuple[str, dict[str, Any]]] = {
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


def from_liblinear(record: dict[str, Any], n_features: int | None) -> Any:
    """The estimator that predicts what LIBLINEAR predicts with this record."""
    from maxmargin import estimators

    if record["solver_type"] == ONE_CLASS:
        return from_libsvm(_as_libsvm(record), n_features)
    name, parameters = _TYPES[record["solver_type"]]
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
    kind = _type_of(model)
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


def _type_of(model: Any) -> str:
    """LIBLINEAR's name for what was minimised."""
    ours = type(model).__name__
    if ours not in {name for name, _ in _TYPES.values()}:
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
        for kind, (name, parameters) in _TYPES.items()
        if name == ours and all(given[key] == value for key, value in parameters.items() if key != "dual")
    ]
    if not fitting:
        raise ModelFileError(
            f"LIBLINEAR has no {ours} with penalty={given.get('penalty')!r} and loss={given.get('loss')!r}. "
            "Use format='native'."
        )
    wanted = bool(given["dual"])  # "auto" is True: the multipliers are found, too
    return next((kind for kind in fitting if _TYPES[kind][1].get("dual") == wanted), fitting[0])
