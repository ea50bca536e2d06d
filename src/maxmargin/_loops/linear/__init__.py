"""Compiled loops of the linear solvers: coordinate steps on rows and on columns."""
