"""Pictures: axes in, axes out. Needs the extra `plot` (matplotlib)."""

from maxmargin.plot.boundary import boundary
from maxmargin.plot.convergence import convergence
from maxmargin.plot.losses import losses
from maxmargin.plot.margins import margins
from maxmargin.plot.path import path
from maxmargin.plot.surface import surface
from maxmargin.plot.tree import tree

__all__ = ["boundary", "convergence", "losses", "margins", "path", "surface", "tree"]
