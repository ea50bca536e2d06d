"""What a notebook shows: bars that are replaced in place, diagrams with certificates, tables."""

import html
import re
import time

import pytest
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, GaussianNB, Lasso, LinearSVC, OneClassSVM, lasso_path, ridge_path
from maxmargin.errors import NotConvergedWarning
from maxmargin.evaluate import grid, holdout, left_out, path

X, y = load_iris(return_X_y=True)


# Estimators and certificates


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), OneClassSVM(), Lasso()], ids=str)
def test_the_diagram_of_an_estimator_has_its_certificate_once_it_is_fitted(model):
    model = type(model)(**model.get_params())
    assert "Certificate" not in model._repr_html_()
    model.fit(X, y)
    bundle = model._repr_mimebundle_()
    for page in (model._repr_html_(), bundle["text/html"]):
        assert page.count("<details><summary") == 1  # folded: the diagram comes first
        assert "Certificate: CONVERGED, relative gap" in page
        for name, value in model.certificate_.rows():
            assert f">{html.escape(name)}</th>" in page
            assert f">{html.escape(value)}</td>" in page
    assert bundle["text/plain"] == repr(model)
    with config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_an_estimator_without_a_certificate_shows_none():
    assert "Certificate" not in GaussianNB().fit(X, y)._repr_html_()


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), GaussianNB(), Lasso()], ids=str)
def test_the_diagram_sends_nobody_to_the_documentation_of_another_library(model):
    assert model._get_doc_link() == ""
    for shown in (model, type(model)(**model.get_params()).fit(X, y)):
        assert "href=" not in shown._repr_html_()
    pipeline = make_pipeline(StandardScaler(), type(model)(**model.get_params())).fit(X, y)
    pages = re.findall(r'href="([^"]*)"', pipeline._repr_html_())
    assert pages
    assert not [page for page in pages if type(model).__name__ in page]


def test_a_certificate_says_in_one_line_how_the_fit_ended():
    good = LinearSVC().fit(X, y).certificate_
    assert re.fullmatch(
        r"<Certificate: CONVERGED, relative gap \S+, KKT violation \S+, tol 0.0001, 3 sub-problems>", repr(good)
    )
    with pytest.warns(NotConvergedWarning):
        bad = LinearSVC(solver="dcd", max_iter=1, tol=1e-9).fit(X[:100], y[:100]).certificate_
    assert repr(bad).startswith("<Certificate: BUDGET, ")
    mark = re.compile("color:(#[0-9a-f]{6})")
    assert mark.findall(good._repr_html_()) != mark.findall(bad._repr_html_())


def _cells(page):
    return re.findall(r"<td[^>]*>([^<]*)</td>", page)


def test_rows_left_out_are_a_table():
    found = left_out(SVC(), X, y)
    for text in (str(found), found._repr_html_()):
        assert f"{found.score:.4f}" in text
        assert str(found.n_solved) in text
    assert _cells(found._repr_html_())[:2] == ["rows", "150"]


def test_a_path_is_a_table_of_its_certificates():
    found = path(LinearSVC(), X, y, C=[0.1, 10.0, 1.0])
    cells = _cells(found._repr_html_())
    assert cells[::5] == ["0.1", "1", "10"]
    assert cells[3::5] == [str(one.n_support) for one in found.certificates]
    assert cells[4::5] == ["CONVERGED"] * 3
    assert [line.split()[0] for line in str(found).splitlines()[2:]] == ["0.1", "1", "10"]


@pytest.mark.parametrize("make", [lasso_path, ridge_path])
@pytest.mark.parametrize("n_alphas", [1, 7, 100])
def test_a_path_of_alphas_is_a_table_from_its_first_to_its_last(make, n_alphas):
    found = make(X, y.astype(float), alphas=n_alphas)
    cells = _cells(found._repr_html_())
    alphas, counts = cells[::3], cells[1::3]
    assert len(alphas) == min(n_alphas, 20)
    assert (alphas[0], alphas[-1]) == (f"{found.alphas[0]:.4g}", f"{found.alphas[-1]:.4g}")
    assert counts[-1] == str(sum(found.coefs[:, -1] != 0.0))
    assert f"{type(found).__name__}: {n_alphas} alphas" in found._repr_html_()


def test_a_search_shows_its_best_settings_first():
    found = grid(SVC(), X, y, C=[0.1, 1.0, 10.0], gamma=[0.01, 0.1, 1.0])
    page = found._repr_html_()
    assert html.escape(str(found).splitlines()[0]) in page
    cells = _cells(page)
    best = found.best_params
    place = tuple(found.parameters[name].index(best[name]) for name in ("C", "gamma"))
    error = f"{found.standard_error[place]:.4f}"
    assert cells[:4] == [f"{best['C']:g}", f"{best['gamma']:g}", f"{found.best_score:.4f}", error]
    assert len(cells) == 4 * 9
    scores = [float(cell) for cell in cells[2::4]]
    assert scores == sorted(scores, reverse=True)
    assert "correlated" in page
    one_split = grid(SVC(), X, y, cv=holdout(0.3), C=[1.0])._repr_html_()
    assert "not known" in one_split
    assert "correlated" not in one_split


# Progress in a running kernel


class Kernel:
    """A notebook's kernel, and what it publishes."""

    def __init__(self):
        manager = pytest.importorskip(
            "jupyter_client", reason="no notebook without a kernel: ipykernel is not installed"
        )
        self.manager = manager.KernelManager(kernel_name="python3")
        self.manager.start_kernel()
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code):
        """All that the cell publishes, in order, as (kind of message, content)."""
        number, seen, deadline = self.client.execute(code), [], time.monotonic() + 60
        while time.monotonic() < deadline:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != number:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "error":
                raise AssertionError("\n".join(content["traceback"]))
            if kind == "status" and content["execution_state"] == "idle":
                return seen
            if kind in ("stream", "display_data", "update_display_data", "execute_result"):
                seen.append((kind, content))
        raise TimeoutError(code)

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel():
    pytest.importorskip("ipykernel", reason="no notebook without a kernel: ipykernel is not installed")
    kernel = Kernel()
    kernel.run(
        "from sklearn.datasets import load_iris\n"
        "from maxmargin import SVC, LinearSVC\n"
        "from maxmargin.evaluate import cross_validate, grid, k_fold\n"
        "X, y = load_iris(return_X_y=True)"
    )
    yield kernel
    kernel.stop()


def last_states(seen):
    """What a notebook shows in the end: updates take the place of what has their name."""
    shown = {}
    for kind, content in seen:
        assert kind in ("display_data", "update_display_data"), content
        name = content["transient"]["display_id"]
        assert (name in shown) == (kind == "update_display_data")
        shown[name] = content["data"]
    return list(shown.values())


@pytest.mark.parametrize(
    "code, words",
    [
        ("model = LinearSVC(verbose=1, n_jobs=1).fit(X[:100], y[:100])", r"LinearSVC: \d+ passes, gap .*, converged, "),
        ("model = LinearSVC(verbose=1, n_jobs=3).fit(X, y)", r"LinearSVC: 3 of 3 done, "),
        ("found = grid(SVC(), X, y, C=[0.1, 1], gamma=[0.1, 1], verbose=1)", r"grid: 10 of 10 folds, "),
        ("found = grid(LinearSVC(), X, y, C=[0.1, 1], n_jobs=2, verbose=1)", r"grid: 10 of 10 fits, "),
        ("found = cross_validate(SVC(), X, y, cv=k_fold(3), verbose=1)", r"cross_validate: 3 of 3 folds, "),
    ],
)
def test_a_notebook_gets_one_bar_that_is_replaced_and_ends_full(kernel, code, words):
    (last,) = last_states(kernel.run(code))
    assert re.match(words + r"[\d.]+ s$", last["text/plain"])
    value, total = re.search(r'<progress value="([\d.]+)" max="([\d.]+)"', last["text/html"]).groups()
    assert float(value) == float(total)


def test_a_fit_that_ends_short_leaves_its_bar_short(kernel):
    quiet = "import warnings; warnings.simplefilter('ignore')\n"
    code = "model = LinearSVC(verbose=1, max_iter=1, solver='dcd', tol=1e-9).fit(X[50:], y[50:])"
    (last,) = last_states(kernel.run(quiet + code))
    assert ", budget, " in last["text/plain"]
    assert float(re.search(r'value="([\d.e-]+)"', last["text/html"])[1]) < 1.0


def test_output_that_is_turned_elsewhere_goes_there_in_plain_lines(kernel):
    assert kernel.run("%%capture held\nmodel = LinearSVC(verbose=1).fit(X[:100], y[:100])") == []
    ((kind, content),) = kernel.run("print(held.stdout, end='')")
    assert kind == "stream"
    assert re.match(r"LinearSVC: \d+ passes, gap .*, converged, [\d.]+ s$", content["text"])


def test_a_fit_that_fails_leaves_its_bar_and_the_next_has_its_own(kernel):
    failing = "try:\n    LinearSVC(C=float('inf'), verbose=1, n_jobs=1).fit(X[50:], y[50:])\nexcept ValueError: pass\n"
    assert len(last_states(kernel.run(failing + "model = LinearSVC(verbose=1).fit(X[:100], y[:100])"))) == 2
