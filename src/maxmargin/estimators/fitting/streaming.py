"""The data of a fit of a linear machine, checked: arrays, or a source, which a trainer of its own goes over.

A source of which a part of the memory holds all rows is trained on as arrays, unless a trainer is asked for by its
name; and a trainer by its name takes arrays as well, as a source.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data import ArraySource
from maxmargin.errors import ParameterError, unknown_name
from maxmargin.estimators.fitting.parameters import check_memory, check_seed
from maxmargin.estimators.fitting.validation import (
    Factors,
    check_labels,
    check_numbers,
    check_same_length,
    check_targets,
    check_weights,
    present_classes,
    refuse_path,
    refuse_source,
)
from maxmargin.features.carried import CarriedMap, carried_by
from maxmargin.problems import is_source
from maxmargin.problems.shared import MEMORY, class_table, row_weights
from maxmargin.solvers import Solver
from maxmargin.solvers.registry import STREAM, classes_of

_DEFAULT = "cached-loops"
_ARRAYS = 3  # rows that take no more than this part of the memory are trained on as arrays


class FitData(NamedTuple):
    """What a fit is about."""

    X: Rows
    """Rows, or a source."""
    y: Labels
    """Labels or targets; nothing beside a source, which has its own."""
    weight: Vector | None
    carried: CarriedMap | None
    """What expanded the rows of a source."""
    classes: Labels = np.empty(0)
    """The classes with rows that count."""
    factors: Factors = ()
    """On the costs of their rows."""

    @property
    def is_streamed(self) -> bool:
        """Whether the rows come from a source."""
        return is_source(self.X)


def carry(machine: Any, carried: CarriedMap | None) -> None:
    """Keep what expanded the rows of this fit, and forget that of an earlier one."""
    vars(machine).pop("feature_map_", None)
    if carried is not None:
        machine.feature_map_ = carried


def labelled_data(machine: Any, X: Any, y: Any, sample_weight: Any, start_model: Any = None) -> FitData:
    """The data of a classifier, checked."""
    data = _given(machine, X, y, sample_weight, start_model)
    if data.is_streamed:
        # Each class counts as one row with the weight of all its rows, which is all that the factors depend on.
        table = class_table(data.X)
        check_labels(table.classes)
        mass = np.bincount(table.codes, weights=data.weight, minlength=len(table.classes)).astype(np.float64)
        classes, factors = present_classes(machine.class_weight, table.classes, table.classes, mass)
        return data._replace(classes=classes, factors=factors)
    y, labels = check_labels(data.y)
    weight = _weight_beside(data.X, y, data.weight)
    classes, factors = present_classes(machine.class_weight, labels, y, weight)
    return data._replace(y=y, weight=weight, classes=classes, factors=factors)


def numeric_data(machine: Any, X: Any, y: Any, sample_weight: Any, start_model: Any = None) -> FitData:
    """The data of a regressor, likewise."""
    data = _given(machine, X, y, sample_weight, start_model)
    if data.is_streamed:
        return data
    y, weight = check_targets(data.X, data.y, data.weight)
    return data._replace(y=y, weight=weight)


def _given(machine: Any, X: Any, y: Any, sample_weight: Any, start_model: Any) -> FitData:
    """Rows checked, or a source; labels and weights beside rows as they came."""
    refuse_path(machine, X)
    refuse_source(machine, X)
    carried = carried_by(X) if is_source(X) else None
    if machine.stream is not None and not (isinstance(machine.stream, str) and machine.stream in STREAM):
        raise unknown_name("stream", machine.stream, STREAM)
    if is_source(X):
        if y is None and sample_weight is None and _fits_as_arrays(machine, X):
            weight = row_weights(X)
            X, y = X.head(X.n_rows)
            return FitData(machine._check_linear_input(X, reset=True), y, weight, carried)
        _check_streamed(machine, start_model)
        if y is not None or sample_weight is not None:
            raise ParameterError("a source brings its own targets and weights; give fit nothing but the source.")
        if hasattr(X, "require_labels"):  # before the first pass, which the next line begins
            X.require_labels()
        machine.n_features_in_ = int(X.n_features)
        return FitData(X, np.empty(0), row_weights(X), carried)
    if machine.stream is None:
        if machine.checkpoint is not None:
            raise ParameterError("checkpoint is for data larger than memory: give a source, or stream='cached-loops'.")
        return FitData(machine._check_linear_input(X, reset=True), y, sample_weight, carried)
    _check_streamed(machine, start_model)
    X = machine._check_linear_input(X, reset=True)
    y = check_numbers(y) if is_regressor(machine) else check_labels(y)[0]
    weight = _weight_beside(X, y, sample_weight)
    source = ArraySource(X, y, np.ones(len(y)) if weight is None else weight)
    return FitData(source, np.empty(0), row_weights(source), carried)


def _weight_beside(X: Rows, y: Labels, sample_weight: Any) -> Vector | None:
    """Weights of as many rows as there are targets."""
    check_same_length(X, y)
    return check_weights(sample_weight, len(y))


def _fits_as_arrays(machine: Any, source: Any) -> bool:
    """Whether a source fits into the memory well, and no trainer is asked for."""
    if machine.stream is not None or machine.checkpoint is not None or not hasattr(source, "require_labels"):
        return False
    source.require_labels()
    return bool(_ARRAYS * source.n_bytes <= (check_memory(machine.memory) or MEMORY))


def _check_streamed(machine: Any, start_model: Any) -> None:
    """Refuse what is for arrays, or for several fits in a row, where a source is trained on."""
    if not isinstance(machine.solver, str) or machine.solver not in ("auto", *getattr(machine, "_peer_solvers", ())):
        raise ParameterError(f"solver={machine.solver!r} is for arrays; stream={machine.stream!r} has its own trainer.")
    if machine.warm_start:
        raise ParameterError("warm_start is for arrays; give checkpoint= a directory to go on from an earlier fit.")
    if start_model is not None:
        raise ParameterError(f"stream={machine.stream!r} is for a fit by itself; a path over arrays needs stream=None.")
    machine._check_streamable()
    if machine.checkpoint is not None and not isinstance(machine.checkpoint, (str, os.PathLike)):
        raise ParameterError(
            f"checkpoint must be the path of a directory or None, got checkpoint={machine.checkpoint!r}."
        )


def trainer_of(machine: Any) -> Solver:
    """The trainer of a source that is asked for, imported now: it brings compiled loops."""
    settings = machine._settings("auto")
    (kind,) = classes_of(STREAM, machine.stream or _DEFAULT)
    memory, seed = check_memory(machine.memory), check_seed(machine.random_state)
    trainer: Solver = kind(settings.tol, settings.max_iter, settings.max_seconds, memory, seed, n_jobs=machine.n_jobs)
    return trainer
