"""Evaluation: how models change with their parameters."""

from maxmargin.evaluate.path import Path, path

__all__ = ["Path", "path"]
