"""Solvers of linear machines with the penalty 1/2 |w|^2."""
