"""The estimator that the options of a command stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from maxmargin.errors import DataError, ParameterError, unknown_name

_PANEL = "Machine"
_KERNELS = ("linear", "poly", "rbf", "sigmoid")
_LOSSES = {"hinge": "hinge", "squared-hinge": "squared_hinge", "logistic": "logistic"}
_TUBES = {"epsilon": "epsilon_insensitive", "squared-epsilon": "squared_epsilon_insensitive"}


def machine_option(name: str, help: str) -> Any:  # noqa: A002 - as the option calls it
    """An option about the machine that is not the same in every command."""
    return typer.Option(name, help=help, rich_help_panel=_PANEL)


Gamma = Annotated[str, machine_option("--gamma", "Width of poly, rbf, sigmoid: a number, 'scale' or 'auto'.")]


@dataclass(frozen=True)
class SearchOptions:
    """Options that say how the optimum is looked for, and for how long."""

    panel: ClassVar[str] = "Search for the optimum"
    memory: Annotated[str, "Bytes for rows, or for kernel values: data that are larger are streamed."] = "1GB"
    stream: Annotated[str | None, "cached-loops, selective-block or block; chosen by itself for large data."] = None
    checkpoint: Annotated[Path | None, "Directory to save the state in while streaming; a rerun goes on from it."] = (
        None
    )
    solver: Annotated[str, "Algorithm by name; see the documentation."] = "auto"
    max_seconds: Annotated[float | None, "Stop then, with what there is."] = None
    max_passes: Annotated[int | None, "Passes over the data, or pair steps, at most."] = None
    seed: Annotated[int | None, "Seed of what is random."] = None

    @property
    def is_streamed(self) -> bool:
        """Whether something was asked for that only training from blocks has."""
        return self.stream is not None or self.checkpoint is not None

    def check(self) -> None:
        """Refuse what no machine can be trained with."""
        from maxmargin.estimators.fitting.parameters import check_choice, check_seed
        from maxmargin.solvers.registry import STREAM

        check_seed(self.seed)
        if self.stream is not None:
            check_choice("stream", self.stream, STREAM)
        if self.checkpoint is not None and self.checkpoint.exists() and not self.checkpoint.is_dir():
            raise ParameterError(f"--checkpoint {self.checkpoint} is a file. Name a directory; a new one is made.")


@dataclass(frozen=True)
class MachineOptions:
    """Options that make an estimator."""

    panel: ClassVar[str] = _PANEL
    kernel: Annotated[
        str | None, "linear, poly, rbf or sigmoid. Not given: a linear machine, which needs no kernel."
    ] = None
    degree: Annotated[int | None, "Degree of poly; 3 if not given."] = None
    coef0: Annotated[float | None, "Constant of poly and sigmoid; 0 if not given."] = None
    loss: Annotated[
        str | None, "hinge, squared-hinge, logistic; of --regression epsilon, squared-epsilon; of --kernel the first."
    ] = None
    regression: Annotated[bool, "Labels are numbers to be approximated."] = False
    epsilon: Annotated[float, "Half-width of the tube of a regression."] = 0.1
    class_weight: Annotated[str | None, "'balanced', or pairs such as 'spam=2,ham=1'."] = None
    intercept: Annotated[str, "free, augmented (penalised, as LIBLINEAR's) or none (linear machines)."] = "free"
    tol: Annotated[float, "Relative duality gap and KKT violation to reach."] = 1e-4

    def estimator(
        self, C: float = 1.0, gamma: float | str = "scale", search: SearchOptions | None = None, **more: Any
    ) -> Any:
        """The estimator, unfitted; `more` are parameters that are no options of a machine.

        What it would refuse with any data is refused here, before data are read; all but the name of a solver, of which
        those that suit the machine are known to its fit.
        """
        import maxmargin
        from maxmargin.estimators.fitting.parameters import check_cost, check_epsilon, check_intercept

        if search is None:
            search = SearchOptions()
        else:
            more |= {"max_seconds": search.max_seconds, "memory": search.memory, "solver": search.solver}
        search.check()
        kind, parameters = self._linear(search) if self.kernel is None else self._with_kernel(gamma, search)
        model = getattr(maxmargin, kind)(C=C, tol=self.tol, **more, **parameters, **self._about_labels())
        model._settings("auto")
        check_cost(C)
        check_epsilon(self.epsilon)
        check_intercept(self.intercept)
        return model

    def check_labels(self, source: Any, files: Sequence[Path]) -> None:
        """Refuse words where numbers are to be approximated, and numbers that are no classes."""
        try:
            classes = source.classes
        except DataError:  # too many different labels to be classes: they are numbers
            if self.regression:
                return
            raise
        if self.regression and classes.dtype.kind not in "fiub":
            raise DataError(
                f"{files[0]}: the labels are words, such as {str(classes[0])!r}, and --regression needs numbers. Leave "
                "it out, or name the column of the numbers with --label."
            )
        if not self.regression and classes.dtype.kind == "f" and (classes % 1.0).any():
            example = classes[(classes % 1.0) != 0.0][0]
            raise DataError(
                f"{files[0]}: {len(classes):,} different labels, such as {example:g}, are no classes. Add --regression "
                "to approximate numbers, or name the column of the classes with --label."
            )

    def _with_kernel(self, gamma: float | str, search: SearchOptions) -> tuple[str, dict[str, Any]]:
        """Name of the estimator, and its parameters."""
        expected = "epsilon" if self.regression else "hinge"
        if self.loss not in (None, expected):
            raise ParameterError(f"--loss {self.loss} is for linear machines; with --kernel the loss is {expected}.")
        if search.is_streamed:
            raise ParameterError(
                "--stream and --checkpoint are for linear machines. Leave --kernel out; nearly the kernel rbf is "
                "--map fourier:gamma=0.1,n_components=500."
            )
        if self.kernel not in _KERNELS:
            raise unknown_name("--kernel", self.kernel, _KERNELS)
        return "SVR" if self.regression else "SVC", {
            "kernel": self.kernel,
            "gamma": gamma,
            "degree": 3 if self.degree is None else self.degree,
            "coef0": 0.0 if self.coef0 is None else self.coef0,
            "intercept": self.intercept,
            "max_iter": -1 if search.max_passes is None else search.max_passes,
        }

    def _linear(self, search: SearchOptions) -> tuple[str, dict[str, Any]]:
        """Name of the estimator, and its parameters."""
        kinds = _TUBES if self.regression else _LOSSES
        loss = self.loss or ("epsilon" if self.regression else "squared-hinge")
        if loss not in kinds:
            raise ParameterError(f"unknown --loss {loss!r}. Known here: {', '.join(sorted(kinds))}.")
        parameters: dict[str, Any] = {
            "fit_intercept": self.intercept != "none",
            "intercept": "free" if self.intercept == "none" else self.intercept,
            "random_state": search.seed,
            "stream": search.stream,
            "checkpoint": None if search.checkpoint is None else str(search.checkpoint),
        }
        if search.max_passes is not None:
            parameters["max_iter"] = search.max_passes
        if loss == "logistic":
            return "LogisticRegression", parameters
        return "LinearSVR" if self.regression else "LinearSVC", {**parameters, "loss": kinds[loss]}

    def _about_labels(self) -> dict[str, Any]:
        if not self.regression:
            return {"class_weight": _class_weight(self.class_weight)}
        if self.class_weight is not None:
            raise ParameterError("--class-weight is for classes; leave it out with --regression.")
        return {"epsilon": self.epsilon}


def number(name: str, text: str) -> float:
    """A number given as text."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--{name} must be a number, got {text!r}.") from None


def costs(text: str) -> list[float]:
    """Costs given with commas between them."""
    from maxmargin.estimators.fitting.parameters import check_cost

    return [check_cost(number("C", part)) for part in text.split(",")]


def width(text: str) -> float | str:
    """A width given as text: a rule's name or a number."""
    return text if text in ("scale", "auto") else number("gamma", text)


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
