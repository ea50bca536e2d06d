"""Compiled loops of naive Bayes: counts and moments of classes."""
