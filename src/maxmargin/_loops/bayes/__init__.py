"""Compiled loops of naive Bayes: moments of classes."""
