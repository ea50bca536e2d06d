"""What the kernel machines share: a kernel, support rows, and prediction from them alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.data import as_double, count_rows
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.fitting.machine import Machine
from maxmargin.estimators.fitting.parameters import check_cache
from maxmargin.estimators.fitting.sources import AcceptsSources, block_by_block
from maxmargin.estimators.fitting.validation import check_rows
from maxmargin.kernels import Kernel, Linear, as_kernel
from maxmargin.problems import Status, combine_columns, linear_scores

_BLOCK_ROWS = 4096


@dataclass(eq=False, repr=False, kw_only=True)
class KernelMachine(AcceptsSources, Machine):
    """A machine whose weight vector is a combination of support rows seen through a kernel."""

    _linear: ClassVar[bool] = False
    _instead: ClassVar[str] = (
        " Nearly a kernel machine is LinearSVC().fit(source.map(landmarks)), or LinearSVR(), with "
        "landmarks = maxmargin.features.Nystroem(kernel, n_components).fit(source)."
    )
    kernel: str | Kernel | Any = "rbf"
    degree: int = 3
    gamma: Literal["scale", "auto"] | float = "scale"
    coef0: float = 0.0
    verbose: bool | int = False
    random_state: Any = None
    _kernel: Kernel = field(init=False)
    support_: RowIndex = field(init=False)
    support_vectors_: Rows = field(init=False)
    dual_coef_: Rows = field(init=False)
    intercept_: Vector = field(init=False)
    shape_fit_: tuple[int, ...] = field(init=False)

    def _check_kernel_input(self, X: Rows, *, reset: bool) -> Rows:
        # gamma needs the data and the data's check needs to know what the kernel works on: a draft kernel tells that.
        on = as_kernel(self.kernel).on if reset else self._kernel.on
        # How many columns a precomputed kernel may have at prediction is known here better than by scikit-learn.
        X = check_rows(self, X, on=on, reset=reset, count_columns=reset or on != "matrix")
        if reset and on == "matrix" and X.shape[0] != X.shape[1]:
            raise DataError(
                f"Precomputed matrix must be a square matrix: kernel='precomputed' takes k(x_i, x_j) of all training "
                f"rows, got shape {X.shape}."
            )
        return X

    def _make_kernel(self, X: Rows, sample_weight: Vector | None) -> Kernel:
        if callable(self.kernel) and not isinstance(self.kernel, Kernel):
            return _tried_out(as_kernel(self.kernel), X)
        if not isinstance(self.kernel, str) or self.kernel in ("linear", "precomputed"):
            return as_kernel(self.kernel)
        try:
            with np.errstate(over="raise", invalid="raise"):
                gamma = kernel_width(self.gamma, X, sample_weight)
        except FloatingPointError as error:
            raise DataError(
                "The dual coefficients or intercepts are not finite, because the variance of X for gamma='scale' is "
                "not. The input data may contain large values and need to be preprocessed: scale them, or give gamma."
            ) from error
        return as_kernel(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)

    def _store_support(self, X: Rows, support: RowIndex, coefficients: Matrix, intercept: Vector) -> None:
        """Support rows with their coefficients, one row a machine or, for several classes, a class less one."""
        if not (np.all(np.isfinite(coefficients)) and np.all(np.isfinite(intercept))):
            raise DataError(
                "The dual coefficients or intercepts are not finite. The input data may contain large values and need "
                "to be preprocessed: scale them."
            )
        self.support_ = support.astype(np.int32)
        self.shape_fit_ = tuple(int(size) for size in X.shape)
        self.support_vectors_ = np.empty((0, 0)) if self._kernel.on == "matrix" else X[support]
        self.dual_coef_ = _laid_out_like(self.support_vectors_, coefficients)
        self.intercept_ = intercept

    def _dual(self) -> Matrix:
        """`dual_coef_` as a dense matrix."""
        return np.asarray(self.dual_coef_.toarray() if sparse.issparse(self.dual_coef_) else self.dual_coef_)

    def _only_point(self) -> Point:
        """The answer of a machine that is a single problem."""
        return Point(self.support_, self._dual()[0], None, self.intercept_[0:1], self._kept_vectors())

    def _kept_vectors(self, members: RowIndex | None = None) -> Rows | None:
        """Support vectors that predictions use; a precomputed kernel has none."""
        if self._kernel.on == "matrix":
            return None
        return self.support_vectors_ if members is None else self.support_vectors_[members]

    @block_by_block
    def _scores(self, X: Rows, coefficients: Matrix) -> Matrix:
        """sum_j coefficients_jk k(x, support vector j), one column a machine."""
        check_is_fitted(self)
        X = self._check_kernel_input(X, reset=False)
        if self._kernel.on == "matrix":
            return linear_scores(X[:, self._columns_of_support(X)], coefficients)
        columns = np.arange(count_rows(self.support_vectors_))
        return combine_columns(self._kernel, X, self.support_vectors_, columns, coefficients)

    def _columns_of_support(self, X: Rows) -> RowIndex | slice:
        """Columns of k(x, x_j) that belong to support rows; only these may be given in the first place."""
        n_train = self.shape_fit_[0]  # 0 for a model from a file that does not say it
        if X.shape[1] == n_train or (n_train == 0 and X.shape[1] > int(np.max(self.support_, initial=0))):
            return self.support_
        if X.shape[1] == len(self.support_):
            return slice(None)
        raise DataError(
            f"kernel='precomputed' takes k(x, x_j) for the {n_train or 'unknown number of'} training rows x_j, or for "
            f"the {len(self.support_)} support rows alone; got {X.shape[1]} columns."
        )

    def _weight_lengths(self, coefficients: Matrix) -> Vector:
        """|w| of each machine, from the support vectors."""
        if self._kernel.on == "matrix":
            raise DataError(
                "geometric margins need |w|, which a precomputed kernel cannot give after training; "
                "functional margins are y times decision_function."
            )
        columns = np.arange(count_rows(self.support_vectors_))
        f = combine_columns(self._kernel, self.support_vectors_, self.support_vectors_, columns, coefficients)
        lengths: Vector = np.sqrt(np.maximum(np.sum(coefficients * f, axis=0), 0.0))
        return lengths

    @property
    def coef_(self) -> Rows:
        """Weights in the space of the features, not to be written to; only for a linear kernel."""
        kernel = getattr(self, "_kernel", self.kernel)  # what was fitted, whatever `kernel` says today
        if not isinstance(kernel, Linear) and not (isinstance(kernel, str) and kernel == "linear"):
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        weights = _laid_out_like(self.support_vectors_, self._machine_coefficients().T) @ self.support_vectors_
        (weights.data if sparse.issparse(weights) else weights).flags.writeable = False
        return weights

    @property
    def fit_status_(self) -> int:
        """0 where the fit ended within its tolerance, otherwise 1."""
        return 0 if self._claimed().status is Status.CONVERGED else 1

    @property
    def _gamma(self) -> float:
        """Gamma of the fitted kernel, under the name by which converters of models ask scikit-learn for it."""
        return float(getattr(self._kernel, "gamma", 0.0))

    def _advice(self, status: Status) -> str:
        # scikit-learn's words, so that filters on its message go on working
        if status is not Status.BUDGET or self.max_iter in (None, -1):
            return ""
        return (
            f" Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with "
            "StandardScaler or MinMaxScaler."
        )

    def _machine_coefficients(self) -> Matrix:
        """One column of coefficients a machine."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class SupportVectorMachine(KernelMachine):
    """A kernel machine whose solvers keep kernel rows and may put variables aside."""

    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float | None = None
    max_iter: int | None = -1

    def _memory(self) -> int | None:
        return check_cache(self.memory, self.cache_size)


def kernel_width(gamma: Any, X: Rows, sample_weight: Vector | None) -> float:
    """Gamma of a kernel: a number, "scale" for 1 / (d var(X)), "auto" for 1 / d.

    The variance of "scale" is weighted, so that a row of weight 2 is the row twice.
    """
    if isinstance(gamma, str):
        if getattr(X, "ndim", 1) != 2 or gamma not in ("scale", "auto"):
            raise ParameterError(f"gamma must be 'scale', 'auto' or a number, got gamma={gamma!r}.")
        if gamma == "auto":
            return 1.0 / int(X.shape[1])
        spread = _variance(X, sample_weight)
        return 1.0 / (int(X.shape[1]) * spread) if spread > 0.0 else 1.0
    if not isinstance(gamma, Real) or isinstance(gamma, bool) or not 0 <= float(gamma) < np.inf:
        raise ParameterError(f"gamma must be 'scale', 'auto' or a number that is not negative, got gamma={gamma!r}.")
    return float(gamma)


def _variance(X: Rows, sample_weight: Vector | None) -> float:
    """Variance over all entries of X in double precision, block by block: X is never copied whole."""
    n, d = X.shape
    weight = np.ones(n) if sample_weight is None else sample_weight
    mass = float(np.sum(weight)) * d
    blocks = [slice(start, start + _BLOCK_ROWS) for start in range(0, n, _BLOCK_ROWS)]
    mean = sum(float(weight[b] @ np.asarray(as_double(X[b]).sum(axis=1)).ravel()) for b in blocks) / mass
    square = 0.0
    for b in blocks:
        part = as_double(X[b])
        if sparse.issparse(part):  # entries that are not stored are zero
            stored = part.copy()
            stored.data = np.square(stored.data - mean) - mean**2
            square += float(weight[b] @ (np.asarray(stored.sum(axis=1)).ravel() + d * mean**2))
        else:
            square += float(weight[b] @ np.square(part - mean).sum(axis=1))
    return float(square / mass)


def _laid_out_like(support_vectors: Rows, coefficients: Matrix) -> Rows:
    """The coefficients as scikit-learn gives them: sparse where the support vectors are."""
    if not sparse.issparse(support_vectors):
        return coefficients
    kind = sparse.csr_matrix if isinstance(support_vectors, sparse.spmatrix) else sparse.csr_array
    return kind(coefficients)


def _tried_out(kernel: Kernel, X: Rows) -> Kernel:
    """A function that takes rows of X in one of the two ways it may."""
    try:
        kernel.block(X[:2], X[:2])
    except TypeError as error:
        raise DataError(
            f"{kernel!r} must answer two matrices of rows with the matrix of their values, or two rows with a number; "
            f"given rows of X it fails: {error}"
        ) from error
    return kernel


@contextmanager
def known_complaints(sample_weight: Any, y: Labels, words: str = "") -> Iterator[None]:
    """Weights that leave too few rows or classes are refused with scikit-learn's words before ours."""
    try:
        yield
    except DataError as error:
        weight = np.asarray([] if sample_weight is None else sample_weight)
        if weight.shape != y.shape or weight.dtype.kind not in "iufb":
            raise
        if not np.any(weight > 0):
            raise DataError(f"Invalid input - all samples have zero or negative weights. {error}") from None
        if len(np.unique(y[weight > 0])) == 1:
            words = f"{words}Invalid input - all samples with positive weights belong to the same class"
            raise DataError(f"{words}. {error}") from None
        raise
