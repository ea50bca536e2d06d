"""`maxmargin demo`: two machines, their certificates and their picture, in a few seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from maxmargin.cli._results import check_output
from maxmargin.errors import MissingExtraError

if TYPE_CHECKING:
    from maxmargin._types import Labels, Matrix

_FEATURES = ("mean concave points", "worst texture")
_NEXT = """\
Try next, in Python:

    from maxmargin import SVC
    model = SVC(kernel="rbf", C=10).fit(X, y)   # any array of numbers, any labels
    print(model.certificate_)                   # how far from the optimum, proved
    model.save("my.model")                      # maxmargin.load("my.model") brings it back
"""


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="Where to write the picture.")] = Path(
        "maxmargin-demo.png"
    ),
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Train and certify only.")] = False,
) -> None:
    """Train two machines on real data, certify them and draw them.

    The data are the breast cancer measurements that come with scikit-learn; nothing is downloaded.
    """
    from maxmargin import SVC

    if not no_picture:
        check_output(output)
    console = Console(highlight=False, soft_wrap=True)
    X, y = _two_measurements()
    console.print(f"{len(X)} breast tumours, {' or '.join(sorted(set(y)))}; {', '.join(_FEATURES)}.")
    models = {
        "Linear kernel, C = 1": SVC(kernel="linear", C=1.0).fit(X, y),
        "Gaussian kernel, C = 10": SVC(kernel="rbf", C=10.0, gamma=0.1).fit(X, y),
    }
    console.print(_side_by_side(models), soft_wrap=False)
    again = [model.certificate_.verify(X, y) for model in models.values()]
    worst = max((abs(seen.gap) + seen.rounding) / seen.primal for seen in again)
    console.print(f"Verified from the data: recomputed from the models and the {len(X)} rows, every number agrees.")
    console.print(f"No machine can lower its objective by more than {1.05 * worst:.1e} of it, rounding included.\n")
    if not no_picture:
        try:
            _draw(models, X, y, output)
        except MissingExtraError as missing:
            console.print(f"No picture: {missing}\n", markup=False)
        else:
            console.print(f"Picture: {output}\n", markup=False)
    console.print(_NEXT, markup=False)


def _two_measurements() -> tuple[Matrix, Labels]:
    """Two columns of scikit-learn's breast cancer data, standardised, and the diagnosis in words."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = [list(data.feature_names).index(name) for name in _FEATURES]
    X = data.data[:, columns]
    return (X - X.mean(axis=0)) / X.std(axis=0), data.target_names[data.target]


def _side_by_side(models: dict[str, Any]) -> Table:
    """Table of the certificates, one column a model."""
    table = Table("Certificate", *models, box=box.SIMPLE_HEAD)
    columns = [dict(model.certificate_.rows()) for model in models.values()]
    for name in columns[0]:
        table.add_row(name, *[column[name] for column in columns])
    return table


def _draw(models: dict[str, Any], X: Matrix, y: Labels, output: Path) -> None:
    from maxmargin.data.replacing import replacing
    from maxmargin.plot import boundary
    from maxmargin.plot.axes import new_panels

    figure, panels = new_panels(len(models))
    for (title, model), ax in zip(models.items(), panels, strict=True):
        names = [f"{name}, standardised" for name in _FEATURES]
        boundary(model, X, y, ax, feature_names=names, title=title)
    with replacing(output) as file:
        figure.savefig(file, format="png", dpi=150)
