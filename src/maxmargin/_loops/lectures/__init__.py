"""Compiled loops of the lectures' solvers."""
