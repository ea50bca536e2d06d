"""Run the benchmarks: all of them, those named, or one with its arguments.

python -m benchmarks
python -m benchmarks reference linear
python -m benchmarks linear --quick --only a9a
python -m benchmarks kernel --parts race,small --only cadata --limit 30
"""

import importlib
import itertools
import sys

ALL = [
    "reference",
    "linear",
    "kernel",
    "solvers",
    "relatives",
    "memory",
    "startup",
    "evaluation",
    "fold_starts",
    "streams",
    "streams_reading",
    "streams_memory",
    "streams_raw",
]

names = list(itertools.takewhile(lambda word: word in ALL, sys.argv[1:]))
arguments = sys.argv[1 + len(names) :]
if arguments and len(names) != 1:
    sys.exit(f"expected names among {', '.join(ALL)}, or one name and its arguments; got {' '.join(sys.argv[1:])}")
for name in names or ALL:
    run = importlib.import_module(f"benchmarks.{name}").main
    run(arguments) if arguments else run()
