"""Large-margin learning for Python that proves its answers.

Names are imported when they are first used, so that `import maxmargin` costs next to nothing.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin import errors as errors
    from maxmargin import evaluate as evaluate
    from maxmargin import features as features
    from maxmargin import kernels as kernels
    from maxmargin import laplace as laplace
    from maxmargin import losses as losses
    from maxmargin import objective as objective
    from maxmargin import plot as plot
    from maxmargin.certificates import Certificate as Certificate
    from maxmargin.data.opening import open as open  # noqa: A004 - it is the public name
    from maxmargin.estimators import SVC as SVC
    from maxmargin.estimators import SVR as SVR
    from maxmargin.estimators import BernoulliNB as BernoulliNB
    from maxmargin.estimators import CategoricalNB as CategoricalNB
    from maxmargin.estimators import DecisionTreeClassifier as DecisionTreeClassifier
    from maxmargin.estimators import DecisionTreeRegressor as DecisionTreeRegressor
    from maxmargin.estimators import ElasticNet as ElasticNet
    from maxmargin.estimators import GaussianNB as GaussianNB
    from maxmargin.estimators import KernelRegression as KernelRegression
    from maxmargin.estimators import Lasso as Lasso
    from maxmargin.estimators import LassoCV as LassoCV
    from maxmargin.estimators import LinearRegression as LinearRegression
    from maxmargin.estimators import LinearSVC as LinearSVC
    from maxmargin.estimators import LinearSVR as LinearSVR
    from maxmargin.estimators import LogisticRegression as LogisticRegression
    from maxmargin.estimators import MultinomialNB as MultinomialNB
    from maxmargin.estimators import NuSVC as NuSVC
    from maxmargin.estimators import NuSVR as NuSVR
    from maxmargin.estimators import OneClassSVM as OneClassSVM
    from maxmargin.estimators import Ridge as Ridge
    from maxmargin.estimators import SoftmaxRegression as SoftmaxRegression
    from maxmargin.estimators import lasso_path as lasso_path
    from maxmargin.estimators import load as load
    from maxmargin.estimators import ridge_path as ridge_path
    from maxmargin.problems import Status as Status

_HOMES = {
    "SVC": "maxmargin.estimators",
    "SVR": "maxmargin.estimators",
    "BernoulliNB": "maxmargin.estimators",
    "CategoricalNB": "maxmargin.estimators",
    "DecisionTreeClassifier": "maxmargin.estimators",
    "DecisionTreeRegressor": "maxmargin.estimators",
    "GaussianNB": "maxmargin.estimators",
    "ElasticNet": "maxmargin.estimators",
    "KernelRegression": "maxmargin.estimators",
    "Lasso": "maxmargin.estimators",
    "LassoCV": "maxmargin.estimators",
    "LinearRegression": "maxmargin.estimators",
    "LinearSVC": "maxmargin.estimators",
    "LinearSVR": "maxmargin.estimators",
    "LogisticRegression": "maxmargin.estimators",
    "MultinomialNB": "maxmargin.estimators",
    "NuSVC": "maxmargin.estimators",
    "NuSVR": "maxmargin.estimators",
    "OneClassSVM": "maxmargin.estimators",
    "Ridge": "maxmargin.estimators",
    "SoftmaxRegression": "maxmargin.estimators",
    "lasso_path": "maxmargin.estimators",
    "load": "maxmargin.estimators",
    "ridge_path": "maxmargin.estimators",
    "Certificate": "maxmargin.certificates",
    "open": "maxmargin.data.opening",
    "Status": "maxmargin.problems",
}
_MODULES = ("errors", "evaluate", "features", "kernels", "laplace", "losses", "objective", "penalties", "plot")

# A star import must not take Python's own `open` away; `maxmargin.open` is there all the same.
__all__ = [name for name in (*_HOMES, *_MODULES) if name != "open"]

try:
    __version__ = version("maxmargin")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"maxmargin.{name}")
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_MODULES])
