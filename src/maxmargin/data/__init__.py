"""Data as restartable blocks: a pass over the data is a `for` loop over `source.block(k)`."""

from maxmargin.data.arrays import (
    ArraySource,
    as_double,
    as_rows,
    as_vectors,
    count_rows,
    long_sum,
    squared_norms,
    take_rows,
)
from maxmargin.data.source import Block, Source, is_source
from maxmargin.data.sources.pulled import PulledSource

__all__ = [
    "ArraySource",
    "Block",
    "PulledSource",
    "Source",
    "as_double",
    "as_rows",
    "as_vectors",
    "count_rows",
    "is_source",
    "long_sum",
    "squared_norms",
    "take_rows",
]
