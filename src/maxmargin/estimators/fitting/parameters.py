"""Checks of parameters: a value that is not allowed is answered with those that are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from maxmargin.data.byte_sizes import byte_count
from maxmargin.errors import ParameterError, unknown_name
from maxmargin.problems import Intercept


def check_cost(C: Any) -> float:
    """C as a positive number; infinity means a hard margin."""
    if not _is_number(C):
        raise ParameterError(f"C must be positive, a number; got C={C!r}, a {type(C).__name__}.")
    if not float(C) > 0:
        raise ParameterError(f"C must be positive, got C={C!r}. Small C means a wide margin; try C=1.")
    return float(C)


def check_finite_cost(C: Any) -> float:
    """C where a hard margin makes no sense: a positive number, not infinity."""
    cost = check_cost(C)
    if math.isinf(cost):
        raise ParameterError("C must be finite for this loss, got C=inf. A large C such as 1e6 fits as closely.")
    return cost


def check_choice(name: str, value: Any, known: Iterable[str]) -> str:
    """One of several words."""
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        raise unknown_name(name, value, words)
    return value


def check_penalty(penalty: Any) -> str:
    """Name of a penalty; those that scikit-learn has and this library has not are answered with what to use."""
    if penalty is None or (isinstance(penalty, str) and penalty == "none"):
        raise ParameterError(
            f"penalty={penalty!r} is not available: without a penalty the weights of classes that can be separated are "
            "infinite. Use penalty='l2' with a large C such as 1e6. Known: 'l1', 'l2'."
        )
    if isinstance(penalty, str) and penalty == "elasticnet":
        raise ParameterError(
            "penalty='elasticnet' is not available. Use penalty='l1' for weights that are exactly zero, otherwise "
            "penalty='l2'. Known: 'l1', 'l2'."
        )
    return check_choice("penalty", penalty, ("l1", "l2"))


def check_dual(dual: Any) -> None:
    """Scikit-learn's choice between primal and dual, which the solver makes here; only its spelling is checked."""
    if not isinstance(dual, (bool, np.bool_)) and not (isinstance(dual, str) and dual == "auto"):
        raise ParameterError(f"dual must be True, False or 'auto', got dual={dual!r}; the solver decides anyway.")


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


def check_verbose(verbose: Any) -> bool:
    """Whether to show a line: a whole number above 0, or True."""
    if not isinstance(verbose, (Integral, np.bool_)):
        raise ParameterError(f"verbose must be True, False or a whole number (0 is silent), got verbose={verbose!r}.")
    return int(verbose) > 0


def check_epsilon(epsilon: Any) -> float:
    """Half-width of a tube."""
    if not _is_number(epsilon) or not 0.0 <= float(epsilon) < math.inf:
        raise ParameterError(f"epsilon must be zero or a positive number, got epsilon={epsilon!r}.")
    return float(epsilon)


def check_nu(nu: Any) -> float:
    """A share of the rows."""
    if not _is_number(nu) or not 0.0 < float(nu) <= 1.0:
        raise ParameterError(f"nu must be a share of the rows, above 0 and at most 1, got nu={nu!r}.")
    return float(nu)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def check_positive(name: str, value: Any) -> float:
    """A positive finite number."""
    if not _is_number(value) or not 0 < float(value) < math.inf:
        raise ParameterError(f"{name} must be a positive number, got {name}={value!r}.")
    return float(value)


def check_max_iter(max_iter: Any) -> int | None:
    """A number of iterations; None and -1 mean no limit."""
    if max_iter is None or (isinstance(max_iter, Integral) and max_iter == -1):
        return None
    if not isinstance(max_iter, Integral) or isinstance(max_iter, bool) or max_iter < 1:
        raise ParameterError(f"max_iter must be a positive whole number, or None or -1 for no limit, got {max_iter!r}.")
    return int(max_iter)


def check_seed(random_state: Any) -> int:
    """A seed: None means 0, because two fits of the same data should agree; a generator gives its next number."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    raise ParameterError(f"random_state must be None, a whole number or a random generator, got {random_state!r}.")


def check_max_seconds(max_seconds: Any) -> float | None:
    """A number of seconds; None means no limit."""
    return None if max_seconds is None else check_positive("max_seconds", max_seconds)


def check_intercept(intercept: Any, scale: Any = 1.0) -> Intercept:
    """Kind of intercept by its name."""
    name = intercept if isinstance(intercept, str) else None
    if name == "free":
        return Intercept.FREE
    if name == "augmented":
        return Intercept(check_positive("intercept_scaling", scale))
    if name == "none":
        return Intercept.NONE
    raise ParameterError(
        f"intercept={intercept!r} is not known. Known: 'free' (not penalised), 'augmented' (penalised, as in "
        "LIBLINEAR), 'none'."
    )


def check_memory(memory: Any) -> int | None:
    """A byte budget: a number of bytes or a text such as "2GB"; None leaves it to the solver."""
    return None if memory is None else byte_count("memory", memory)


def check_cache(memory: Any, cache_size: Any) -> int | None:
    """A byte budget from `memory`, or from scikit-learn's `cache_size` in megabytes; both only where they agree."""
    budget = check_memory(memory)
    if cache_size is None:
        return budget
    alias = int(check_positive("cache_size", cache_size) * 10**6)
    if budget is not None and budget != alias:
        raise ParameterError(
            f"memory={memory!r} and cache_size={cache_size!r} are two budgets for the same kernel rows, {budget} and "
            f"{alias} bytes. Give one of them; cache_size counts megabytes."
        )
    return max(1, alias)
