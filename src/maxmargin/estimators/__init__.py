"""Estimators: thin. Check the input, build the problem, solve it, certify it, store it.

Each is imported when it is first used, so that one that needs no compiled loop does not load the compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.estimators.bayes.categorical_nb import CategoricalNB as CategoricalNB
    from maxmargin.estimators.bayes.discrete_nb import BernoulliNB as BernoulliNB
    from maxmargin.estimators.bayes.discrete_nb import MultinomialNB as MultinomialNB
    from maxmargin.estimators.bayes.gaussian_nb import GaussianNB as GaussianNB
    from maxmargin.estimators.files.saving import load as load
    from maxmargin.estimators.kernel.kernel_regression import KernelRegression as KernelRegression
    from maxmargin.estimators.kernel.nu_machines import NuSVC as NuSVC
    from maxmargin.estimators.kernel.nu_machines import NuSVR as NuSVR
    from maxmargin.estimators.kernel.nu_machines import OneClassSVM as OneClassSVM
    from maxmargin.estimators.kernel.svc import SVC as SVC
    from maxmargin.estimators.kernel.svr import SVR as SVR
    from maxmargin.estimators.linear.lasso import ElasticNet as ElasticNet
    from maxmargin.estimators.linear.lasso import Lasso as Lasso
    from maxmargin.estimators.linear.lasso import LassoCV as LassoCV
    from maxmargin.estimators.linear.lasso_paths import lasso_path as lasso_path
    from maxmargin.estimators.linear.linear_regression import LinearRegression as LinearRegression
    from maxmargin.estimators.linear.linear_svc import LinearSVC as LinearSVC
    from maxmargin.estimators.linear.linear_svr import LinearSVR as LinearSVR
    from maxmargin.estimators.linear.logistic_regression import LogisticRegression as LogisticRegression
    from maxmargin.estimators.linear.logistic_regression import SoftmaxRegression as SoftmaxRegression
    from maxmargin.estimators.linear.ridge import Ridge as Ridge
    from maxmargin.estimators.linear.ridge import ridge_path as ridge_path
    from maxmargin.estimators.trees.decision_trees import DecisionTreeClassifier as DecisionTreeClassifier
    from maxmargin.estimators.trees.decision_trees import DecisionTreeRegressor as DecisionTreeRegressor

_FILES = {
    "SVC": "kernel.svc",
    "SVR": "kernel.svr",
    "BernoulliNB": "bayes.discrete_nb",
    "CategoricalNB": "bayes.categorical_nb",
    "DecisionTreeClassifier": "trees.decision_trees",
    "DecisionTreeRegressor": "trees.decision_trees",
    "GaussianNB": "bayes.gaussian_nb",
    "ElasticNet": "linear.lasso",
    "KernelRegression": "kernel.kernel_regression",
    "Lasso": "linear.lasso",
    "LassoCV": "linear.lasso",
    "LinearRegression": "linear.linear_regression",
    "LinearSVC": "linear.linear_svc",
    "LinearSVR": "linear.linear_svr",
    "LogisticRegression": "linear.logistic_regression",
    "MultinomialNB": "bayes.discrete_nb",
    "NuSVC": "kernel.nu_machines",
    "NuSVR": "kernel.nu_machines",
    "OneClassSVM": "kernel.nu_machines",
    "Ridge": "linear.ridge",
    "SoftmaxRegression": "linear.logistic_regression",
    "lasso_path": "linear.lasso_paths",
    "load": "files.saving",
    "ridge_path": "linear.ridge",
}

__all__ = list(_FILES)


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return getattr(importlib.import_module(f"maxmargin.estimators.{_FILES[name]}"), name)
    raise AttributeError(f"module 'maxmargin.estimators' has no attribute {name!r}")
