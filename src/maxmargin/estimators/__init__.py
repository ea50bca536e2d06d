"""Estimators: thin. Check the input, build the problem, solve it, certify it, store it.

Each is imported when it is first used, so that one that needs no compiled loop does not load the compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.estimators.files import load as load
    from maxmargin.estimators.kernel_regression import KernelRegression as KernelRegression
    from maxmargin.estimators.linear_regression import LinearRegression as LinearRegression
    from maxmargin.estimators.linear_svc import LinearSVC as LinearSVC
    from maxmargin.estimators.linear_svr import LinearSVR as LinearSVR
    from maxmargin.estimators.logistic_regression import LogisticRegression as LogisticRegression
    from maxmargin.estimators.nu_svc import NuSVC as NuSVC
    from maxmargin.estimators.nu_svr import NuSVR as NuSVR
    from maxmargin.estimators.one_class_svm import OneClassSVM as OneClassSVM
    from maxmargin.estimators.ridge import Ridge as Ridge
    from maxmargin.estimators.softmax_regression import SoftmaxRegression as SoftmaxRegression
    from maxmargin.estimators.svc import SVC as SVC
    from maxmargin.estimators.svr import SVR as SVR

_FILES = {
    "SVC": "svc",
    "SVR": "svr",
    "KernelRegression": "kernel_regression",
    "LinearRegression": "linear_regression",
    "LinearSVC": "linear_svc",
    "LinearSVR": "linear_svr",
    "LogisticRegression": "logistic_regression",
    "NuSVC": "nu_svc",
    "NuSVR": "nu_svr",
    "OneClassSVM": "one_class_svm",
    "Ridge": "ridge",
    "SoftmaxRegression": "softmax_regression",
    "load": "files",
}

__all__ = list(_FILES)


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return getattr(importlib.import_module(f"maxmargin.estimators.{_FILES[name]}"), name)
    raise AttributeError(f"module 'maxmargin.estimators' has no attribute {name!r}")
