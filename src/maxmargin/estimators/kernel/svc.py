"""Support vector classification with kernels."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from maxmargin._types import Labels, Rows, Vector
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_cost, check_intercept
from maxmargin.estimators.kernel.kernel_classifier import KernelClassifier, tasks_of
from maxmargin.losses import HardMargin, Hinge
from maxmargin.problems import Specification
from maxmargin.solvers.registry import check_kernel_name


@dataclass(eq=False, repr=False, kw_only=True)
class SVC(KernelClassifier):
    """Support vector classifier.

        minimise over w, b    1/2 |w|^2 + sum_i C_i max(0, 1 - y_i (<w, phi(x_i)> + b))

    A drop-in replacement for scikit-learn's `SVC`, whose parameters keep their meaning; every fit ends with a
    certificate.

    Parameters
    ----------
    C
        Cost of slack, positive; infinity asks for a hard margin and raises `NotSeparableError` where there is none.
    kernel
        "rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed", a `maxmargin.kernels` object, or a callable.
        Where the kernel matrix has negative eigenvalues, as with "sigmoid", there is no duality gap: the certificate
        has the KKT violation alone.
    degree, gamma, coef0
        Parameters of the kernels that are given by name; gamma is "scale", "auto" or a number.
    tol
        Relative duality gap and KKT violation at which the fit may stop.
    class_weight
        None, "balanced", or a dictionary from label to a factor on C.
    solver
        The algorithm, by name:

        "auto"          "blocks", and "qp" for a hard margin
        "blocks"        working sets within working sets, for few rows and for many
        "smo"           LIBSVM's method: pair steps among all rows, a cache of kernel rows, shrinking
        "qp"            the reference, to the last digits, for up to a few thousand rows
        "osuna"         the lectures' working sets, each a small quadratic program
        "dcd"           the lectures' coordinate ascent; intercept "augmented" or "none"
        "smo-simple"    the lectures' listing of SMO; free intercept

        or a `maxmargin.solvers.Solver`, which brings its own tol, max_iter, max_seconds, n_jobs, memory and
        random_state: those of the estimator are not used then.
    intercept
        "free", "augmented" (penalised: the kernel k + 1) or "none".
    max_iter, max_seconds
        Budgets, the seconds for the whole fit; -1 and None mean no limit. The model so far, with its certificate, is
        the result.
    memory, cache_size
        Byte budget for kernel rows, as "2GB" or a number; None leaves it to the solver. `cache_size` is scikit-learn's
        name for it, in megabytes; give one of the two.
    n_jobs
        Threads; None means all cores.
    device
        "auto" or "cpu".
    decision_function_shape, break_ties
        As in scikit-learn, for more than two classes.
    probability
        True makes `predict_proba` and `predict_log_proba` available: five more fits on parts of the data. The most
        probable class is always the predicted one; `maxmargin.estimators.kernel.probabilities` says how, and at what
        price. Scikit-learn removes its own in version 1.11; this one stays.
    verbose
        1 shows the progress of the fit in one line; 0 is silent.
    random_state
        Seed of the folds of `probability`, and of solvers that draw rows; None means 0.
    shrinking
        Accepted for compatibility; the solver decides.

    Attributes
    ----------
    certificate_ : Certificate
        How far the model is from optimal; `.parts` has one a pair of classes where there are more than two.
    history_ : History
        Primal, dual and gap at each check (a list of them for more than two classes).
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, class_weight_, shape_fit_, fit_status_
        As in scikit-learn: `dual_coef_` and `coef_` are sparse after a fit of sparse rows.
    n_iter_
        Pair steps, or what the solver repeats in their place, one number a pair of classes.
    classes_
        The labels that have rows with positive weights.
    probA_, probB_
        Slopes and shifts of the sigmoids, one a pair of classes, in scikit-learn's signs; the shifts are 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10).fit(X, y)
    >>> model.certificate_.relative_gap < 1e-8
    True
    """

    C: float = 1.0
    intercept: Literal["free", "augmented", "none"] = "free"

    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> SVC:
        """Train on rows X with labels y.

        Parameters
        ----------
        X
            Dense or CSR rows, float32 or float64; a list of strings for a kernel on strings; the square kernel matrix
            for `kernel="precomputed"`.
        y
            Labels of any kind, at least two of them.
        sample_weight
            Factor on C of each row; weight 2 is the row twice, weight 0 its absence. A class of which all rows have
            weight 0 is absent.
        """
        return self._fit_from(X, y, sample_weight, None)

    @all_or_nothing
    def _fit_from(self, X: Rows, y: Labels | None, sample_weight: Vector | None, start_model: SVC | None) -> SVC:
        """Train from where `start_model` ended, if it had the same rows and classes."""
        begun = time.perf_counter()
        self._check_choices()
        C, intercept = check_cost(self.C), check_intercept(self.intercept)
        loss = HardMargin() if np.isinf(C) else Hinge()
        X, y, weight, classes, factors = self._check_all(X, y, sample_weight)
        kernel = self._make_kernel(X, weight)
        specifications = [
            Specification(task, loss, C, intercept, kernel, class_weight=factors) for task in tasks_of(classes)
        ]
        check_kernel_name(self.solver, specifications[0])
        solver = self._settings()
        training = self._train(specifications, X, y, weight, solver=solver, start_model=start_model)
        self._store(training, X, y, classes, factors, kernel)
        self._conclude(training)
        self._fit_probabilities(specifications, X, y, weight, solver, begun)
        return self
