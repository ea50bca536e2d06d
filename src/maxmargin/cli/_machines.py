"""The estimator that the options of a command stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

Kernel = Annotated[
    str | None,
    typer.Option("--kernel", help="linear, poly, rbf or sigmoid. Not given: a linear machine, which needs no kernel."),
]
Cost = Annotated[str, typer.Option("--C", help="Cost of errors; 'inf' is a hard margin.")]
Gamma = Annotated[str, typer.Option("--gamma", help="Width of poly, rbf, sigmoid: a number, 'scale' or 'auto'.")]
Degree = Annotated[int, typer.Option("--degree", help="Degree of poly.")]
Coef0 = Annotated[float, typer.Option("--coef0", help="Constant of poly and sigmoid.")]
Loss = Annotated[
    str | None,
    typer.Option(
        "--loss",
        help="hinge, squared-hinge, logistic; of --regression epsilon, squared-epsilon; of --kernel the first.",
    ),
]
IsRegression = Annotated[bool, typer.Option("--regression", help="Labels are numbers to be approximated.")]
Epsilon = Annotated[float, typer.Option("--epsilon", help="Half-width of the tube of a regression.")]
ClassWeight = Annotated[str | None, typer.Option("--class-weight", help="'balanced', or pairs such as 'spam=2,ham=1'.")]
InterceptKind = Annotated[
    str, typer.Option("--intercept", help="free, augmented (penalised, as LIBLINEAR's) or none (linear machines).")
]
Tol = Annotated[float, typer.Option("--tol", help="Relative duality gap and KKT violation to reach.")]
MaxSeconds = Annotated[float | None, typer.Option("--max-seconds", help="Stop then, with what there is.")]
MaxPasses = Annotated[int | None, typer.Option("--max-passes", help="Passes over the data, or pair steps, at most.")]

_LINEAR_LOSSES = {"hinge": "hinge", "squared-hinge": "squared_hinge"}
_TUBES = {"epsilon": "epsilon_insensitive", "squared-epsilon": "squared_epsilon_insensitive"}


@dataclass(frozen=True)
class Machine:
    """Options that make an estimator."""

    kernel: str | None = None
    C: str = "1"
    gamma: str = "scale"
    degree: int = 3
    coef0: float = 0.0
    loss: str | None = None
    regression: bool = False
    epsilon: float = 0.1
    class_weight: str | None = None
    intercept: str = "free"
    tol: float = 1e-4
    max_seconds: float | None = None
    max_passes: int | None = None
    solver: str = "auto"
    n_jobs: int | None = None
    memory: str | None = None
    stream: str | None = None
    checkpoint: Path | None = None
    seed: int | None = None

    def estimator(self, **changed: Any) -> Any:
        """The estimator, unfitted; `changed` has parameters that take another value."""
        common = {
            "C": number("C", self.C),
            "tol": self.tol,
            "max_seconds": self.max_seconds,
            "n_jobs": self.n_jobs,
            "memory": self.memory,
            "solver": self.solver,
        }
        parameters = self._kernel_parameters() if self.kernel is not None else self._linear_parameters()
        return self._kind()(**{**common, **parameters, **changed})

    def _kind(self) -> Any:
        import maxmargin

        if self.kernel is not None:
            return maxmargin.SVR if self.regression else maxmargin.SVC
        if self.loss == "logistic":
            return maxmargin.LogisticRegression
        return maxmargin.LinearSVR if self.regression else maxmargin.LinearSVC

    def _kernel_parameters(self) -> dict[str, Any]:
        expected = "epsilon" if self.regression else "hinge"
        if self.loss not in (None, expected):
            raise ParameterError(f"--loss {self.loss} is for linear machines; with --kernel the loss is {expected}.")
        if self.stream is not None or self.checkpoint is not None:
            raise ParameterError(
                "--stream and --checkpoint are for linear machines. Leave --kernel out. Python has approximate ones: "
                "maxmargin.open(...).map(maxmargin.features.RandomFourier(...))."
            )
        parameters: dict[str, Any] = {
            "kernel": self.kernel,
            "gamma": self.gamma if self.gamma in ("scale", "auto") else number("gamma", self.gamma),
            "degree": self.degree,
            "coef0": self.coef0,
            "intercept": self.intercept,
            "max_iter": -1 if self.max_passes is None else self.max_passes,
        }
        return {**parameters, **self._about_labels()}

    def _linear_parameters(self) -> dict[str, Any]:
        kinds = _TUBES if self.regression else {**_LINEAR_LOSSES, "logistic": "logistic"}
        loss = self.loss or ("epsilon" if self.regression else "squared-hinge")
        if loss not in kinds:
            raise ParameterError(f"unknown --loss {loss!r}. Known here: {', '.join(sorted(kinds))}.")
        parameters: dict[str, Any] = {
            "fit_intercept": self.intercept != "none",
            "intercept": "free" if self.intercept == "none" else self.intercept,
            "random_state": self.seed,
            **self._about_labels(),
        }
        if self.max_passes is not None:
            parameters["max_iter"] = self.max_passes
        if loss == "logistic":
            if self.stream is not None or self.checkpoint is not None:
                raise ParameterError("--loss logistic is trained in memory; leave --stream and --checkpoint out.")
            return parameters
        checkpoint = None if self.checkpoint is None else str(self.checkpoint)
        return {**parameters, "loss": kinds[loss], "stream": self.stream, "checkpoint": checkpoint}

    def _about_labels(self) -> dict[str, Any]:
        if self.regression:
            if self.class_weight is not None:
                raise ParameterError("--class-weight is for classes; leave it out with --regression.")
            return {"epsilon": self.epsilon}
        return {"class_weight": _class_weight(self.class_weight)}


def number(name: str, text: str) -> float:
    """A number given as text."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--{name} must be a number, got {text!r}.") from None


def numbers(name: str, text: str) -> list[float]:
    """Numbers given with commas between them."""
    return [number(name, part) for part in text.split(",")]


def _class_weight(text: str | None) -> Any:
    if text is None or text == "balanced":
        return text
    pairs = [part.rpartition("=") for part in text.split(",")]
    if any(not label for label, _, _ in pairs):
        raise ParameterError(f"--class-weight must be 'balanced' or pairs such as 'spam=2,ham=1', got {text!r}.")
    return {_label(label): number("class-weight", weight) for label, _, weight in pairs}


def _label(text: str) -> Any:
    """A label as data hold it: a number where it reads as one."""
    try:
        return float(text)
    except ValueError:
        return text
