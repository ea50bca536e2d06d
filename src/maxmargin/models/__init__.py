"""Model files: plain records of arrays, numbers and words, written whole and read with suspicion.

    native.py        the zip file: what lies in it, and every check made when it is read
    placeholders.py  a record as JSON, with the arrays taken out and put back
    replacing.py     a file that appears under its name only when it is complete

Nothing here knows an estimator: an estimator turns itself into a record and back.
"""

from maxmargin.models.native import read_record, write_record

__all__ = ["read_record", "write_record"]
