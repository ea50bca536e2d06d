"""Compiled loops that expand features: monomials, random cosines, n-grams, k-mers."""
