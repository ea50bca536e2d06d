"""Model files: plain records of arrays, numbers and words, written whole and read with suspicion.

Nothing here knows an estimator: an estimator turns itself into a record and back.
"""

from maxmargin.models.liblinear import read_liblinear, write_liblinear
from maxmargin.models.libsvm import read_libsvm, write_libsvm
from maxmargin.models.native import read_record, write_record

__all__ = ["read_liblinear", "read_libsvm", "read_record", "write_liblinear", "write_libsvm", "write_record"]
