"""Compiled loops of the decision trees."""
