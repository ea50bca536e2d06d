"""Run the benchmarks: all of them, those named, or one with its arguments.

python -m benchmarks
python -m benchmarks reference linear
python -m benchmarks linear --quick --only a9a
python -m benchmarks kernel --parts race,small --only cadata --limit 30
"""

import importlib
import itertools
import sys

MODULES = {
    "walk": "walk",
    "lines": "lines",
    "reference": "solvers.reference",
    "linear": "linear.main",
    "kernel": "kernel.main",
    "solvers": "solvers.main",
    "relatives": "relatives.main",
    "memory": "memory",
    "startup": "startup",
    "evaluation": "evaluation.leave_one_out",
    "fold_starts": "evaluation.fold_starts",
    "streams": "streams.main",
    "streams_reading": "streams.reading",
    "streams_memory": "streams.memory",
    "streams_raw": "streams.raw",
}
"""Where each benchmark is, in the order in which all of them are run."""

names = list(itertools.takewhile(lambda word: word in MODULES, sys.argv[1:]))
arguments = sys.argv[1 + len(names) :]
if arguments and len(names) != 1:
    sys.exit(f"expected names among {', '.join(MODULES)}, or one name and its arguments; got {' '.join(sys.argv[1:])}")
for name in names or MODULES:
    run = importlib.import_module(f"benchmarks.{MODULES[name]}").main
    run(arguments) if arguments else run()
