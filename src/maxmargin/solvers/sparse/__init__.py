"""Solvers of linear machines with the penalty |w|_1."""
