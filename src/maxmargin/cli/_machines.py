"""The estimator that the options of a command stand for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.errors import ParameterError, unknown_name

_PANEL, _SEARCH_PANEL = "Machine", "Search for the optimum"
_KERNELS = ("linear", "poly", "rbf", "sigmoid")
_LINEAR_LOSSES = {"hinge": "hinge", "squared-hinge": "squared_hinge"}
_TUBES = {"epsilon": "epsilon_insensitive", "squared-epsilon": "squared_epsilon_insensitive"}

Gamma = Annotated[
    str,
    typer.Option("--gamma", help="Width of poly, rbf, sigmoid: a number, 'scale' or 'auto'.", rich_help_panel=_PANEL),
]


@dataclass(frozen=True)
class Search:
    """Options that say how the optimum is looked for, and for how long."""

    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            help="Bytes for rows, or for kernel values: data that are larger are streamed.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = "1GB"
    stream: Annotated[
        str | None,
        typer.Option(
            "--stream",
            help="cached-loops, selective-block or block; chosen by itself for large data.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="Directory to save the state in while streaming; a rerun goes on from it.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    solver: Annotated[
        str, typer.Option("--solver", help="Algorithm by name; see the documentation.", rich_help_panel=_SEARCH_PANEL)
    ] = "auto"
    max_seconds: Annotated[
        float | None,
        typer.Option("--max-seconds", help="Stop then, with what there is.", rich_help_panel=_SEARCH_PANEL),
    ] = None
    max_passes: Annotated[
        int | None,
        typer.Option(
            "--max-passes", help="Passes over the data, or pair steps, at most.", rich_help_panel=_SEARCH_PANEL
        ),
    ] = None
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of what is random.", rich_help_panel=_SEARCH_PANEL)
    ] = None

    @property
    def is_streamed(self) -> bool:
        """Whether something was asked for that only training from blocks has."""
        return self.stream is not None or self.checkpoint is not None


@dataclass(frozen=True)
class Machine:
    """Options that make an estimator."""

    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            help="linear, poly, rbf or sigmoid. Not given: a linear machine, which needs no kernel.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    degree: Annotated[int, typer.Option("--degree", help="Degree of poly.", rich_help_panel=_PANEL)] = 3
    coef0: Annotated[float, typer.Option("--coef0", help="Constant of poly and sigmoid.", rich_help_panel=_PANEL)] = 0.0
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            help="hinge, squared-hinge, logistic; of --regression epsilon, squared-epsilon; of --kernel the first.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    regression: Annotated[
        bool, typer.Option("--regression", help="Labels are numbers to be approximated.", rich_help_panel=_PANEL)
    ] = False
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="Half-width of the tube of a regression.", rich_help_panel=_PANEL)
    ] = 0.1
    class_weight: Annotated[
        str | None,
        typer.Option("--class-weight", help="'balanced', or pairs such as 'spam=2,ham=1'.", rich_help_panel=_PANEL),
    ] = None
    intercept: Annotated[
        str,
        typer.Option(
            "--intercept",
            help="free, augmented (penalised, as LIBLINEAR's) or none (linear machines).",
            rich_help_panel=_PANEL,
        ),
    ] = "free"
    tol: Annotated[
        float, typer.Option("--tol", help="Relative duality gap and KKT violation to reach.", rich_help_panel=_PANEL)
    ] = 1e-4

    def estimator(
        self,
        C: float = 1.0,
        gamma: float | str = "scale",
        search: Search | None = None,
        **more: Any,
    ) -> Any:
        """The estimator, unfitted; `more` are parameters that are no options of a machine."""
        common: dict[str, Any] = {"C": C, "tol": self.tol, **more}
        if search is not None:
            common |= {"max_seconds": search.max_seconds, "memory": search.memory, "solver": search.solver}
        else:
            search = Search()
        if self.kernel is not None:
            return self._kind()(**common, gamma=gamma, **self._kernel_parameters(search))
        return self._kind()(**common, **self._linear_parameters(search))

    def _kind(self) -> Any:
        import maxmargin

        if self.kernel is not None:
            return maxmargin.SVR if self.regression else maxmargin.SVC
        if self.loss == "logistic":
            return maxmargin.LogisticRegression
        return maxmargin.LinearSVR if self.regression else maxmargin.LinearSVC

    def _kernel_parameters(self, search: Search) -> dict[str, Any]:
        expected = "epsilon" if self.regression else "hinge"
        if self.loss not in (None, expected):
            raise ParameterError(f"--loss {self.loss} is for linear machines; with --kernel the loss is {expected}.")
        if search.is_streamed:
            raise ParameterError(
                "--stream and --checkpoint are for linear machines. Leave --kernel out. Python has approximate ones: "
                "maxmargin.open(...).map(maxmargin.features.RandomFourier(...))."
            )
        if self.kernel not in _KERNELS:
            raise unknown_name("--kernel", self.kernel, _KERNELS)
        parameters: dict[str, Any] = {
            "kernel": self.kernel,
            "degree": self.degree,
            "coef0": self.coef0,
            "intercept": self.intercept,
            "max_iter": -1 if search.max_passes is None else search.max_passes,
        }
        return {**parameters, **self._about_labels()}

    def _linear_parameters(self, search: Search) -> dict[str, Any]:
        kinds = _TUBES if self.regression else {**_LINEAR_LOSSES, "logistic": "logistic"}
        loss = self.loss or ("epsilon" if self.regression else "squared-hinge")
        if loss not in kinds:
            raise ParameterError(f"unknown --loss {loss!r}. Known here: {', '.join(sorted(kinds))}.")
        parameters: dict[str, Any] = {
            "fit_intercept": self.intercept != "none",
            "intercept": "free" if self.intercept == "none" else self.intercept,
            "random_state": search.seed,
            **self._about_labels(),
        }
        if search.max_passes is not None:
            parameters["max_iter"] = search.max_passes
        parameters["stream"] = search.stream
        parameters["checkpoint"] = None if search.checkpoint is None else str(search.checkpoint)
        return parameters if loss == "logistic" else {**parameters, "loss": kinds[loss]}

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
