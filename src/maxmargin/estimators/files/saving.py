"""Estimators as plain records, and back.

A record holds the name of the estimator, its parameters, its fitted attributes and its certificate without the arrays
that the attributes hold already. An estimator that solves no problem has neither certificate nor history: its record
says None. Values that JSON has no word for are marked by the key "is":

    {"is": "kernel", ...}   a kernel object       {"is": "pairs", ...}   a dictionary with keys of any kind
    {"is": "tuple", ...}    a tuple               {"is": "map", ...}     the feature map that rows were expanded by
"""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin import features, kernels, losses, penalties
from maxmargin.certificates import Certificate, Claim
from maxmargin.errors import ModelFileError, ParameterError, unknown_name
from maxmargin.estimators.files.text_models import from_liblinear, from_libsvm, to_liblinear, to_libsvm
from maxmargin.features.carried import CarriedMap
from maxmargin.kernels import Kernel
from maxmargin.models import read_liblinear, read_libsvm, read_record, write_liblinear, write_libsvm, write_record
from maxmargin.problems import (
    AllClasses,
    History,
    Intercept,
    OneClass,
    OneVersusRest,
    Pair,
    Regression,
    Specification,
    Status,
)

_TASKS = {task.__name__: task for task in (AllClasses, OneClass, OneVersusRest, Pair, Regression)}
_NUMBERS = tuple(field.name for field in fields(Certificate) if field.name not in ("status", "parts", "claim"))
_TEXT_FORMATS = {b"svm_type": (read_libsvm, from_libsvm), b"solver_type": (read_liblinear, from_liblinear)}
"""How a text file is read that begins with a word."""


def save(estimator: Any, path: str | os.PathLike[str], format: str = "native") -> None:  # noqa: A002 - as in `save`
    """Write a fitted estimator to `path`: to a temporary name first, then renamed."""
    check_is_fitted(estimator)
    if format in ("libsvm", "liblinear") and getattr(estimator, "feature_map_", None) is not None:
        raise ModelFileError(
            f"a {format} file has no room for the feature map that the model carries. Set model.feature_map_ = None to "
            "write the weights alone."
        )
    if format == "native":
        write_record(to_record(estimator), path)
    elif format == "libsvm":
        write_libsvm(to_libsvm(estimator), path)
    elif format == "liblinear":
        write_liblinear(to_liblinear(estimator), path)
    else:
        raise unknown_name("format", format, ("native", "libsvm", "liblinear"))


def load(path: str | os.PathLike[str], n_features: int | None = None) -> Any:
    """Read a model that `model.save(path)` wrote, or LIBSVM or LIBLINEAR; nothing in the file is executed.

    What wrote the file is seen from its first bytes. A model of LIBSVM or LIBLINEAR predicts what it predicts there;
    its `certificate_` is None, because such a file says nothing about how it was trained.

    Parameters
    ----------
    path
        The file.
    n_features
        Number of features, for files of LIBSVM, which name only those that are not zero in a support vector, and
        of LIBLINEAR; further ones have no weight. None takes those that the file has.

    Raises
    ------
    ModelFileError
        The file is damaged, or is not a model file.
    """
    with open(path, "rb") as file:
        first_word = b"".join(file.read(16).split()[:1])
    if first_word not in _TEXT_FORMATS:
        return from_record(read_record(path), str(path))
    read, make = _TEXT_FORMATS[first_word]
    record = read(path)
    try:
        estimator = make(record, n_features)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error
    estimator._makes_no_claim = True
    return estimator


def to_record(estimator: Any) -> dict[str, Any]:
    """The estimator as numbers, words and arrays."""
    parameters = estimator.get_params(deep=False)
    elsewhere = {*parameters, "_certificate", "history_"}
    record = {
        "estimator": type(estimator).__name__,
        "parameters": {name: _encoded(value, name) for name, value in parameters.items()},
        "attributes": {name: _encoded(value, name) for name, value in vars(estimator).items() if name not in elsewhere},
        "certificate": None,
    }
    certificate = estimator.certificate_
    if certificate is None:
        return record
    histories = estimator.history_ if isinstance(estimator.history_, list) else [estimator.history_]
    return record | {
        "histories": [history.as_arrays() for history in histories],
        "certificate": _numbers(certificate),
        "parts": [_part(part) for part in (certificate.parts or (certificate,))],
    }


def from_record(record: dict[str, Any], path: str) -> Any:
    """The estimator whose `to_record` gave `record`."""
    from maxmargin import estimators

    kind = record.get("estimator")
    known = getattr(estimators, str(kind), None) if kind in estimators.__all__ else None
    if not (isinstance(known, type) and issubclass(known, BaseEstimator)):
        raise ModelFileError(f"{path}: the file holds a model of kind {kind!r}, which this version does not know.")
    try:
        estimator = known(**{name: _decoded(value) for name, value in record["parameters"].items()})
        for name, value in record["attributes"].items():
            setattr(estimator, name, _decoded(value))
        if record["certificate"] is not None:
            _restore_evidence(estimator, record)
        _check_features(estimator)
    except (KeyError, TypeError, IndexError, AttributeError, ParameterError) as error:
        raise ModelFileError(f"{path}: the record of the model is incomplete ({error!r}).") from error
    return estimator


def _check_features(estimator: Any) -> None:
    """Refuse a map that makes another number of features than the model has weights for."""
    carried = getattr(estimator, "feature_map_", None)
    if carried is None:
        return
    made, known = carried.feature_map.output_features(carried.n_features or 0), estimator.n_features_in_
    if made != known:
        raise TypeError(f"a feature map that makes {made} features, and a model of {known}")


def _restore_evidence(estimator: Any, record: dict[str, Any]) -> None:
    """Give the estimator its certificate and histories."""
    histories = [History.from_arrays(part) for part in record["histories"]]
    estimator.history_ = histories[0] if len(histories) == 1 else histories
    parts = [
        _certificate(part["numbers"], claim=_claim(part, point))
        for part, point in zip(record["parts"], estimator._points(), strict=True)
    ]
    whole = parts[0] if len(parts) == 1 else _certificate(record["certificate"], parts=tuple(parts))
    estimator._certificate = whole


def _numbers(certificate: Certificate) -> dict[str, Any]:
    return {**{name: getattr(certificate, name) for name in _NUMBERS}, "status": certificate.status.name}


def _certificate(numbers: dict[str, Any], **rest: Any) -> Certificate:
    return Certificate(**{**numbers, "status": Status[numbers["status"]]}, **rest)


def _part(certificate: Certificate) -> dict[str, Any]:
    claim = certificate.claim
    assert claim is not None
    specification = claim.specification
    task = specification.task
    return {
        "numbers": _numbers(certificate),
        "n_rows": claim.n_rows,
        "sample_weight": claim.sample_weight,
        "task": {"kind": type(task).__name__, **{name: _encoded(value, name) for name, value in vars(task).items()}},
        "loss": specification.loss.to_record(),
        "C": specification.C,
        "intercept": specification.intercept.scale,
        "kernel": None if specification.kernel is None else specification.kernel.to_record(),
        "penalty": specification.penalty.to_record(),
        "class_weight": [[_encoded(label, "class_weight"), factor] for label, factor in specification.class_weight],
    }


def _claim(part: dict[str, Any], point: Any) -> Claim:
    task = dict(part["task"])
    specification = Specification(
        task=_TASKS[task.pop("kind")](**{name: _decoded(value) for name, value in task.items()}),
        loss=losses.from_record(part["loss"]),
        C=part["C"],
        intercept=Intercept(part["intercept"]),
        kernel=None if part["kernel"] is None else kernels.from_record(part["kernel"]),
        penalty=penalties.from_record(part["penalty"]),
        class_weight=tuple((_decoded(label), factor) for label, factor in part["class_weight"]),
    )
    return Claim(specification, point, part["n_rows"], part["sample_weight"])


def _encoded(value: Any, name: str) -> Any:
    """`value` in words that a record knows."""
    if value is None or isinstance(value, (bool, int, float, str, np.ndarray)) or sparse.issparse(value):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Kernel):
        return {"is": "kernel", "kernel": value.to_record()}
    if isinstance(value, CarriedMap):
        return _map_record(value)
    if isinstance(value, tuple):
        return {"is": "tuple", "items": [_encoded(item, name) for item in value]}
    if isinstance(value, list):
        return [_encoded(item, name) for item in value]
    if isinstance(value, dict):
        return {"is": "pairs", "items": [[_encoded(k, name), _encoded(v, name)] for k, v in value.items()]}
    raise ModelFileError(
        f"{name}={value!r} cannot be written to a model file: it holds numbers, words and arrays, never code. "
        "Use a kernel or solver by name, or precomputed kernel values."
    )


def _decoded(value: Any) -> Any:
    """What `_encoded` was given."""
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("is") == "kernel":
        return kernels.from_record(value["kernel"])
    if value.get("is") == "map":
        return _map_from_record(value)
    items = [_decoded(item) for item in value["items"]]
    return tuple(items) if value.get("is") == "tuple" else dict(items)


def _map_record(carried: CarriedMap) -> dict[str, Any]:
    feature_map = carried.feature_map
    parameters = {
        name: np.dtype(value).name if name == "dtype" else value for name, value in feature_map.get_params().items()
    }
    try:
        return {
            "is": "map",
            "kind": type(feature_map).__name__,
            "parameters": {name: _encoded(value, name) for name, value in parameters.items()},
            "learned": {name: _encoded(getattr(feature_map, name), name) for name in feature_map.learned},
            "n_features": carried.n_features,
            "dtype": carried.dtype,
        }
    except ModelFileError as error:
        raise ModelFileError(
            f"the feature map that the model carries cannot be written: {error} To save the model without it, set "
            "model.feature_map_ = None."
        ) from error


def _map_from_record(record: dict[str, Any]) -> CarriedMap:
    kind = record["kind"]
    if kind not in features.__all__:
        raise KeyError(f"{kind} is no feature map of this version")
    feature_map = getattr(features, kind)(**{key: _decoded(value) for key, value in record["parameters"].items()})
    for key in feature_map.learned:
        setattr(feature_map, key, _decoded(record["learned"][key]))
    columns, dtype = record["n_features"], record["dtype"]
    if not (columns is None or isinstance(columns, int)) or dtype not in ("float32", "float64", "uint8"):
        raise TypeError(f"a feature map of {columns!r} columns of type {dtype!r}")
    return CarriedMap(feature_map, columns, dtype)
