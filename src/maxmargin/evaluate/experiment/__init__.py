"""An experiment: models compared on some rows, and one look at the others, which were sealed before."""

from maxmargin.evaluate.experiment.experiment import Experiment
from maxmargin.evaluate.experiment.sealed_rows import Revealed

__all__ = ["Experiment", "Revealed"]
