"""Pictures: axes in, axes out. Needs the extra `plot` (matplotlib)."""

from maxmargin.plot.boundary import boundary

__all__ = ["boundary"]
