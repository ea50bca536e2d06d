"""Run every benchmark: `python -m benchmarks [name ...]`."""

import importlib
import sys

ALL = ["reference"]

for name in sys.argv[1:] or ALL:
    importlib.import_module(f"benchmarks.{name}").main()
