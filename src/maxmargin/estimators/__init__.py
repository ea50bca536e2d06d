"""Estimators: thin. Check the input, build the problem, solve it, certify it, store it."""

from maxmargin.estimators.files import load
from maxmargin.estimators.linear_regression import LinearRegression
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.linear_svr import LinearSVR
from maxmargin.estimators.logistic_regression import LogisticRegression
from maxmargin.estimators.ridge import Ridge
from maxmargin.estimators.softmax_regression import SoftmaxRegression
from maxmargin.estimators.svc import SVC
from maxmargin.estimators.svr import SVR

__all__ = [
    "SVC",
    "SVR",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "Ridge",
    "SoftmaxRegression",
    "load",
]
