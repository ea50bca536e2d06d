"""Squared errors with the penalty |w|_1, with or without |w|^2 beside it."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, Rows, Vector
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_choice
from maxmargin.estimators.linear.linear_regression import LeastSquaresMachine, check_alpha
from maxmargin.losses import Squared
from maxmargin.penalties import L1, L2, Penalty, PositiveElasticNet
from maxmargin.penalties import ElasticNet as ElasticNetPenalty
from maxmargin.problems import Regression, Specification
from maxmargin.solvers import Solver
from maxmargin.solvers.linear.least_squares import LeastSquares, Method
from maxmargin.solvers.registry import check_linear_name


def penalty_of(alpha: Any, l1_ratio: Any, *, positive: bool) -> Penalty:
    """The penalty alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2); `positive` forbids negative weights."""
    strength, share = check_alpha(alpha), check_share(l1_ratio)
    l1, l2 = strength * share, strength * (1.0 - share)
    if positive:
        if l1 == 0.0:
            raise ParameterError(
                "positive=True is not available for l1_ratio=0, where the penalty is |w|^2 alone. Use a small "
                "l1_ratio such as 1e-3."
            )
        return PositiveElasticNet(l1, l2)
    if l1 == 0.0:
        return L2(l2)
    return L1(l1) if l2 == 0.0 else ElasticNetPenalty(l1, l2)


def check_share(l1_ratio: Any) -> float:
    """A share from 0 to 1."""
    if not isinstance(l1_ratio, Real) or isinstance(l1_ratio, bool) or not 0.0 <= float(l1_ratio) <= 1.0:
        raise ParameterError(
            f"l1_ratio must be between 0 (|w|^2 alone) and 1 (|w|_1 alone), got l1_ratio={l1_ratio!r}."
        )
    return float(l1_ratio)


def check_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, got {name}={value!r}.")
    return bool(value)


def check_precompute(precompute: Any) -> None:
    """Scikit-learn's choice whether to form products of columns, which the solver makes here."""
    if isinstance(precompute, str):
        check_choice("precompute", precompute, ("auto",))
    elif not isinstance(precompute, (bool, np.bool_)) and np.ndim(precompute) != 2:
        raise ParameterError(
            f"precompute must be True, False, 'auto' or a matrix, got precompute={precompute!r}; the solver decides "
            "anyway."
        )


class SparseRegressor(LeastSquaresMachine):
    """What lasso and elastic net share: a penalty, and the fit of one alpha."""

    _methods: ClassVar[dict[str, Method]] = {}
    # What other machines let the user choose.
    intercept: ClassVar[str] = "free"
    intercept_scaling: ClassVar[float] = 1.0
    dual_gap_: float

    l1_ratio: Any = 1.0

    @all_or_nothing
    def fit(
        self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None, check_input: bool = True
    ) -> Self:
        """Train on rows X with targets y; a row of weight 2 is the row twice, of weight 0 its absence.

        `check_input` is accepted for compatibility: the input is always checked.
        """
        before = self._last_fit()
        self._fit_one(*self._checked(X, y, sample_weight), self.alpha, before)
        return self

    def _check_choices(self) -> None:
        check_flag("positive", self.positive)
        check_choice("selection", self.selection, ("cyclic", "random"))
        check_precompute(self.precompute)

    def _solver(self, specification: Specification) -> Solver:
        """The solver asked for: `LassoDescent`, for |w|^2 alone `LeastSquares`."""
        if isinstance(self.solver, Solver):
            return self._settings()
        penalty = specification.penalty
        if isinstance(penalty, L2):
            check_linear_name(self.solver, specification, ("lasso",))
            if self.solver not in ("auto", "lasso"):
                return self._settings()
            checked = self._settings("auto")
            return LeastSquares(checked.tol, checked.max_iter, checked.max_seconds, n_jobs=self.n_jobs)
        check_choice(
            "solver", self.solver, ("auto", "lasso", "sparse") if isinstance(penalty, L1) else ("auto", "lasso")
        )
        return self._settings("lasso" if self.solver == "auto" else self.solver)

    def _fit_one(self, X: Rows, y: Vector, weight: Vector | None, alpha: Any, before: Any = None) -> None:
        """Train with this alpha, from a fitted model where there is one."""
        penalty = penalty_of(alpha, self.l1_ratio, positive=self.positive)
        mass = float(len(y)) if weight is None else float(np.sum(weight))
        specification = Specification(Regression(), Squared(), 1.0 / mass, self._intercept(), penalty=penalty)
        training = self._train([specification], X, y, weight, solver=self._solver(specification), start_model=before)
        self._store_points(training.points)
        self.dual_gap_ = training.certificates[0].gap
        self._conclude(training)

    def _iterations(self, passes: list[int]) -> Any:
        """At least one: the weights were looked at."""
        return max(1, *passes)

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a sparse matrix with one row."""
        return sparse.csr_matrix(np.atleast_2d(self.coef_))


class ElasticNet(SparseRegressor):
    """Linear regression with a penalty that sets weights to zero and shrinks the others.

        minimise over w, b    1/(2 n) sum_i c_i (<w, x_i> + b - y_i)^2
                              + alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2)        n = sum_i c_i

    with c_i the weight of row i. A drop-in replacement for scikit-learn's `ElasticNet`, for one target. In the
    library's notation C = 1/n and the penalty is the second line: the certificate's primal value is the objective
    above. Every fit ends with a certificate, and weights that are zero are exactly zero.

    Parameters
    ----------
    alpha
        Strength of the penalty, positive; without one use `LinearRegression`. Has nothing to do with the multipliers,
        to which these pages give that letter.
    l1_ratio
        Share of |w|_1 in the penalty: 1 is the lasso, 0 ridge regression with strength alpha n.
    fit_intercept
        Whether there is an intercept, which is free. Sparse rows stay sparse: they are centred in thought only.
    precompute, copy_X, selection, random_state
        Accepted for compatibility: the solver decides what to form, never changes X, and leaves nothing to chance.
    max_iter
        Most looks at all columns, each a pass over the data.
    tol
        Relative duality gap and KKT violation at which a fit may stop. A working set is solved to the last digits
        whatever tol is, so that the answer is mostly far better.
    warm_start
        Begin at the weights of the last fit.
    positive
        Whether weights must not be negative.
    solver
        "auto" or "lasso" (working sets of columns); or a `maxmargin.solvers.Solver`, which brings its own tol,
        max_iter, max_seconds and n_jobs: those of the estimator are not used then.
    max_seconds
        Time budget; None means no limit.
    n_jobs
        Threads; None means all cores.
    memory
        For data larger than memory, which this estimator cannot train on; None.
    device
        "auto" or "cpu".
    verbose
        1 shows the progress of the fit in one line; 0 is silent.

    Attributes
    ----------
    certificate_ : Certificate
        How far the model is from optimal.
    history_ : History
        Primal, dual and gap at each look.
    coef_, sparse_coef_, intercept_, n_iter_
        As in scikit-learn; `n_iter_` counts passes over the data.
    dual_gap_
        The gap of the certificate, in the units of the objective above.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import ElasticNet
    >>> X, y = np.array([[-1.0, 0.1], [0.0, -0.2], [1.0, 0.1]]), np.array([-3.0, 0.0, 3.0])
    >>> model = ElasticNet(alpha=1.0, l1_ratio=0.5).fit(X, y)
    >>> bool(np.allclose(model.coef_, [9 / 7, 0]))
    True
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: str | Solver = "auto",
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        memory: str | int | None = None,
        device: str = "auto",
        verbose: bool | int = 0,
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.memory = memory
        self.device = device
        self.verbose = verbose
