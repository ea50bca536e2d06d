"""Compiled loops over rows of a source: the row cache, coordinate steps, sums of coefficients."""
