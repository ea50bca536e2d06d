"""Lasso, naive Bayes and decision trees against their peers."""
