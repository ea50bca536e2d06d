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
    from maxmargin import losses as losses
    from maxmargin import objective as objective
    from maxmargin import plot as plot
    from maxmargin.certificates import Certificate as Certificate
    from maxmargin.estimators import SVC as SVC
    from maxmargin.estimators import SVR as SVR
    from maxmargin.estimators import KernelRegression as KernelRegression
    from maxmargin.estimators import LinearRegression as LinearRegression
    from maxmargin.estimators import LinearSVC as LinearSVC
    from maxmargin.estimators import LinearSVR as LinearSVR
    from maxmargin.estimators import LogisticRegression as LogisticRegression
    from maxmargin.estimators import NuSVC as NuSVC
    from maxmargin.estimators import NuSVR as NuSVR
    from maxmargin.estimators import OneClassSVM as OneClassSVM
    from maxmargin.estimators import Ridge as Ridge
    from maxmargin.estimators import SoftmaxRegression as SoftmaxRegression
    from maxmargin.estimators import load as load
    from maxmargin.problems import Status as Status

_HOMES = {
    "SVC": "maxmargin.estimators",
    "SVR": "maxmargin.estimators",
    "KernelRegression": "maxmargin.estimators",
    "LinearRegression": "maxmargin.estimators",
    "LinearSVC": "maxmargin.estimators",
    "LinearSVR": "maxmargin.estimators",
    "LogisticRegression": "maxmargin.estimators",
    "NuSVC": "maxmargin.estimators",
    "NuSVR": "maxmargin.estimators",
    "OneClassSVM": "maxmargin.estimators",
    "Ridge": "maxmargin.estimators",
    "SoftmaxRegression": "maxmargin.estimators",
    "load": "maxmargin.estimators",
    "Certificate": "maxmargin.certificates",
    "Status": "maxmargin.problems",
}
_MODULES = ("errors", "evaluate", "features", "kernels", "losses", "objective", "penalties", "plot")

__all__ = [*_HOMES, *_MODULES]

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
    return sorted([*globals(), *__all__])
