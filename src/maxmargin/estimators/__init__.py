"""Estimators: thin. Check the input, build the problem, solve it, certify it, store it."""

from maxmargin.estimators.files import load
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.linear_svr import LinearSVR
from maxmargin.estimators.svc import SVC
from maxmargin.estimators.svr import SVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "load"]
