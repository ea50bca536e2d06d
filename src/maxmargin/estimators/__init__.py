"""Estimators: thin. Check the input, build the problem, solve it, certify it, store it.

Each is imported when it is first used, so that one that needs no compiled loop does not load the compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.estimators.bernoulli_nb import BernoulliNB as BernoulliNB
    from maxmargin.estimators.categorical_nb import CategoricalNB as CategoricalNB
    from maxmargin.estimators.decision_tree_classifier import DecisionTreeClassifier as DecisionTreeClassifier
    from maxmargin.estimators.decision_tree_regressor import DecisionTreeRegressor as DecisionTreeRegressor
    from maxmargin.estimators.elastic_net import ElasticNet as ElasticNet
    from maxmargin.estimators.files import load as load
    from maxmargin.estimators.gaussian_nb import GaussianNB as GaussianNB
    from maxmargin.estimators.kernel_regression import KernelRegression as KernelRegression
    from maxmargin.estimators.lasso import Lasso as Lasso
    from maxmargin.estimators.lasso_cv import LassoCV as LassoCV
    from maxmargin.estimators.lasso_paths import lasso_path as lasso_path
    from maxmargin.estimators.linear_regression import LinearRegression as LinearRegression
    from maxmargin.estimators.linear_svc import LinearSVC as LinearSVC
    from maxmargin.estimators.linear_svr import LinearSVR as LinearSVR
    from maxmargin.estimators.logistic_regression import LogisticRegression as LogisticRegression
    from maxmargin.estimators.multinomial_nb import MultinomialNB as MultinomialNB
    from maxmargin.estimators.nu_svc import NuSVC as NuSVC
    from maxmargin.estimators.nu_svr import NuSVR as NuSVR
    from maxmargin.estimators.one_class_svm import OneClassSVM as OneClassSVM
    from maxmargin.estimators.ridge import Ridge as Ridge
    from maxmargin.estimators.ridge_paths import ridge_path as ridge_path
    from maxmargin.estimators.softmax_regression import SoftmaxRegression as SoftmaxRegression
    from maxmargin.estimators.svc import SVC as SVC
    from maxmargin.estimators.svr import SVR as SVR

_FILES = {
    "SVC": "svc",
    "SVR": "svr",
    "BernoulliNB": "bernoulli_nb",
    "CategoricalNB": "categorical_nb",
    "DecisionTreeClassifier": "decision_tree_classifier",
    "DecisionTreeRegressor": "decision_tree_regressor",
    "GaussianNB": "gaussian_nb",
    "ElasticNet": "elastic_net",
    "KernelRegression": "kernel_regression",
    "Lasso": "lasso",
    "LassoCV": "lasso_cv",
    "LinearRegression": "linear_regression",
    "LinearSVC": "linear_svc",
    "LinearSVR": "linear_svr",
    "LogisticRegression": "logistic_regression",
    "MultinomialNB": "multinomial_nb",
    "NuSVC": "nu_svc",
    "NuSVR": "nu_svr",
    "OneClassSVM": "one_class_svm",
    "Ridge": "ridge",
    "SoftmaxRegression": "softmax_regression",
    "lasso_path": "lasso_paths",
    "load": "files",
    "ridge_path": "ridge_paths",
}

__all__ = list(_FILES)


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return getattr(importlib.import_module(f"maxmargin.estimators.{_FILES[name]}"), name)
    raise AttributeError(f"module 'maxmargin.estimators' has no attribute {name!r}")
