"""Paths, searches and leave-one-out, each with what its fits can share."""

from maxmargin.evaluate.grid import Grid, grid
from maxmargin.evaluate.left_out import LeftOut, left_out
from maxmargin.evaluate.path import Path, path

__all__ = ["Grid", "LeftOut", "Path", "grid", "left_out", "path"]
