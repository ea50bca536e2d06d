"""Fits from a source of blocks: from specifications to certified solutions, all sub-problems in the same passes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin._types import Labels, Vector
from maxmargin.certificates import Certificate, Claim, Point
from maxmargin.certificates.certificate import from_assessment
from maxmargin.data import ArraySource
from maxmargin.errors import ParameterError, unknown_name
from maxmargin.estimators.fitting.machine import Machine, Training
from maxmargin.estimators.fitting.parameters import check_memory, check_seed
from maxmargin.estimators.fitting.validation import check_labels, check_same_length, check_weights
from maxmargin.estimators.fitting.weights import Factors, present_classes
from maxmargin.problems import Solution, Specification, StreamedProblem, is_source
from maxmargin.problems.streamed import MEMORY, class_table, row_weights
from maxmargin.solvers.registry import STREAM, classes_of

_DEFAULT = "cached-loops"


_ARRAYS = 3  # rows that take no more than this part of the memory are trained on as arrays


def rows_in_memory(
    machine: Any, X: Any, y: Labels | None, sample_weight: Vector | None
) -> tuple[Any, Labels | None, Vector | None]:
    """The arrays of a source that fits into the memory well, where no trainer is asked for; else what was given."""
    if not is_source(X) or machine.stream is not None or machine.checkpoint is not None:
        return X, y, sample_weight
    if y is not None or sample_weight is not None or not hasattr(X, "require_labels"):
        return X, y, sample_weight
    X.require_labels()
    if _ARRAYS * X.n_bytes > (check_memory(machine.memory) or MEMORY):
        return X, y, sample_weight
    weight = row_weights(X)
    return *X.head(X.n_rows), weight


def is_streamed(machine: Any, X: Any) -> bool:
    """Whether a fit of these data goes through a source: because they are one, or because `stream` asks for it."""
    if machine.stream is not None and not (isinstance(machine.stream, str) and machine.stream in STREAM):
        raise unknown_name("stream", machine.stream, STREAM)
    if not is_source(X) and machine.stream is None:
        if machine.checkpoint is not None:
            raise ParameterError("checkpoint is for data larger than memory: give a source, or stream='cached-loops'.")
        return False
    return True


def check_not_streamed(machine: Any) -> None:
    """Refuse a trainer for sources where arrays are trained on from a given start, as along a path."""
    if machine.stream is not None:
        raise ParameterError(f"stream={machine.stream!r} is for a fit by itself; a path over arrays needs stream=None.")


def as_source(machine: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """The source given, or the arrays as one."""
    if not isinstance(machine.solver, str) or machine.solver not in ("auto", *getattr(machine, "_peer_solvers", ())):
        raise ParameterError(f"solver={machine.solver!r} is for arrays; stream={machine.stream!r} has its own trainer.")
    if machine.warm_start:
        raise ParameterError("warm_start is for arrays; give checkpoint= a directory to go on from an earlier fit.")
    if is_source(X):
        if y is not None or sample_weight is not None:
            raise ParameterError("a source brings its own targets and weights; give fit nothing but the source.")
        if hasattr(X, "require_labels"):  # before the first pass, which the next line begins
            X.require_labels()
        machine.n_features_in_ = int(X.n_features)
        return X
    weight = check_weights(sample_weight, len(y))
    check_same_length(X, y)
    return ArraySource(X, y, np.ones(len(y)) if weight is None else weight)


def streamed_classes(class_weight: Any, source: Any, weight: Vector | None) -> tuple[Labels, Factors]:
    """The classes that have rows of positive weight, and the factors on C of the labels.

    Each class counts as one row with the weight of all its rows, which is all that the factors depend on.
    """
    table = class_table(source)
    check_labels(table.classes)
    mass = np.bincount(table.codes, weights=weight, minlength=len(table.classes)).astype(np.float64)
    return present_classes(class_weight, table.classes, table.classes, mass)


def fit_classifier_on_source(
    machine: Any,
    X: Any,
    y: Labels | None,
    sample_weight: Vector | None,
    specifications: Callable[[Labels, Factors], list[Specification]],
) -> None:
    """Train a linear classifier on a source, or on arrays with the trainer of one, and store what was found.

    `specifications` tells the sub-problems of the classes, given the factors on their costs.
    """
    if not is_source(X):
        X, y = machine._check_linear_input(X, reset=True), check_labels(y)[0]
    source = as_source(machine, X, y, sample_weight)
    weight = row_weights(source)
    classes, factors = streamed_classes(machine.class_weight, source, weight)
    training = train_on_source(machine, source, specifications(classes, factors), weight)
    machine.classes_ = classes
    machine._store_points(training.points)
    machine._conclude(training, machine._points())


def train_on_source(
    machine: Machine, source: Any, specifications: Sequence[Specification], weight: Vector | None
) -> Training:
    """Train and certify all sub-problems."""
    settings = machine._settings("auto")
    problem = StreamedProblem(source, specifications, weight)
    solver = _trainer(machine, settings.tol, settings.max_iter, settings.max_seconds)
    keeper = None
    if machine.checkpoint is not None:
        from maxmargin.estimators.fitting.checkpoints import Checkpoints

        keeper = Checkpoints(_directory(machine.checkpoint), problem)
    with machine._watched(specifications[:1], solver.tol, source, np.empty(0), None) as (watch, callbacks):
        with watch.part(0) as ended:
            found = solver.solve(problem, keeper)
            ended.append(found.status)
        certificates = [_certificate(problem, p, found, solver.tol) for p in range(len(specifications))]
        training = Training(tuple(certificates), tuple(found.histories), in_same_passes=True)
    return training if callbacks is None else replace(training, on_end=callbacks.finish)


def _trainer(machine: Any, tol: float, max_iter: int | None, max_seconds: float | None) -> Any:
    """The trainer asked for, imported now: it brings compiled loops."""
    (kind,) = classes_of(STREAM, machine.stream or _DEFAULT)
    memory, seed = check_memory(machine.memory), check_seed(machine.random_state)
    return kind(tol, max_iter, max_seconds, memory, seed, n_jobs=machine.n_jobs)


def _directory(checkpoint: Any) -> str:
    if not isinstance(checkpoint, (str, os.PathLike)):
        raise ParameterError(f"checkpoint must be the path of a directory or None, got checkpoint={checkpoint!r}.")
    return os.fspath(checkpoint)


def _certificate(problem: StreamedProblem, p: int, found: Any, tol: float) -> Certificate:
    """The certificate of one sub-problem."""
    beta = found.beta[p]
    support = np.flatnonzero(beta)
    point = Point(support, beta[support], found.weights[p], float(found.intercepts[p]))
    claim = Claim(problem.specifications[p], point, problem.n_rows, problem.weight)
    solution = Solution(
        alpha=beta,
        weights=point.weights,
        bias=point.bias,
        status=found.status,
        history=found.histories[p],
        solver=found.solver,
        passes=found.passes,
        seconds=found.seconds,
    )
    return from_assessment(found.assessments[p], problem.objective, claim, solution, tol)
