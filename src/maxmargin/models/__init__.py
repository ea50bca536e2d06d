"""Model files: plain records of arrays, numbers and words, written whole and read with suspicion.

    native.py        the zip file: what lies in it, and every check made when it is read
    placeholders.py  a record as JSON, with the arrays taken out and put back
    text.py          header and numbers of the text files of other libraries
    libsvm.py        LIBSVM's model file
    liblinear.py     LIBLINEAR's model file

Nothing here knows an estimator: an estimator turns itself into a record and back.
"""

from maxmargin.models.liblinear import read_liblinear, write_liblinear
from maxmargin.models.libsvm import read_libsvm, write_libsvm
from maxmargin.models.native import read_record, write_record

__all__ = ["read_liblinear", "read_libsvm", "read_record", "write_liblinear", "write_libsvm", "write_record"]
