"""`kill -9` at any moment loses nothing: the next run goes on and reaches the same answer.

A run reads text files into a block file, trains with checkpoints, certifies, and saves the model. Twenty runs are
killed, at moments that a seed chooses: while the block file is written, while the fit goes on, while a checkpoint or
the model is written. Some of them are runs of `maxmargin train`. Each run is a fork of one process that has everything
imported, so that it begins at once.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin import LinearSVC
from maxmargin.cli import app
from maxmargin.problems import Status

FILES, ROWS_A_FILE, FEATURES = 24, 25, 12
TOL, MEMORY, BLOCK_MEMORY = 1e-3, "12KB", "8KB"
READING, FITTING, CHECKPOINT, MODEL = "reading", "fitting", "checkpoint", "model"


def write_rows(folder: Path) -> None:
    rng = np.random.default_rng(0)
    w = rng.normal(size=FEATURES)
    for number in range(FILES):
        X = rng.normal(size=(ROWS_A_FILE, FEATURES)).round(3)
        y = np.where(X @ w + 2.0 * rng.normal(size=ROWS_A_FILE) > 0.0, "up", "down")
        lines = (
            " ".join([label, *(f"{j + 1}:{x}" for j, x in enumerate(row))])
            for label, row in zip(y, X.tolist(), strict=True)
        )
        (folder / f"rows-{number:02}.txt").write_text("\n".join(lines) + "\n")


def opened(folder: Path, progress=None):
    """The rows, as blocks that are kept in a directory."""
    return maxmargin.open(
        str(folder / "rows-*.txt"), cache=folder / "cache", memory=BLOCK_MEMORY, n_jobs=1, progress=progress
    )


def machine(folder: Path) -> LinearSVC:
    return LinearSVC(loss="hinge", C=1.0, tol=TOL, memory=MEMORY, checkpoint=str(folder / "state"), random_state=0)


def run(folder: Path, moment: dict | None = None, tell: int | None = None) -> LinearSVC:
    """Read, train, certify and save; be killed at the moment given, if any. The pipe `tell` hears when a fit begins."""
    (folder / "cache").mkdir(exist_ok=True)
    batches = iter(range(10 * FILES))
    if moment is not None and moment["event"] != "time":
        sys.addaudithook(_killer(folder, moment))

    def progress(_):
        if moment is not None and moment == {"during": READING, "event": "batch", "number": next(batches)}:
            os.kill(os.getpid(), signal.SIGKILL)

    with opened(folder, progress) as source:
        assert source.n_rows == FILES * ROWS_A_FILE
        if tell is not None:
            os.write(tell, b"!")
        model = machine(folder).fit(source)
        model.save(folder / "model")
        model.certificate_.verify(source)
    return model


def run_verb(folder: Path, moment: dict | None = None) -> LinearSVC:
    """The same from the command line."""
    (folder / "cache").mkdir(exist_ok=True)
    if moment is not None:
        sys.addaudithook(_killer(folder, moment))
    files = sorted(str(path) for path in folder.glob("rows-*.txt"))
    kept = ["--cache", str(folder / "cache"), "-q"]
    machine = ["--loss", "hinge", "--C", "1", "--tol", str(TOL), "--seed", "0"]
    stream = ["--stream", "cached-loops", "--memory", MEMORY, "--checkpoint", str(folder / "state")]
    with contextlib.redirect_stdout(io.StringIO()):
        app(["train", *files, "-o", str(folder / "model"), *machine, *stream, *kept], standalone_mode=False)
        app(["certify", str(folder / "model"), *files, *kept], standalone_mode=False)
    return maxmargin.load(folder / "model")


def _killer(folder: Path, moment: dict):
    """Kills the process when a file is opened for writing in the directory of the moment, or about to be renamed."""
    directory = {READING: folder / "cache", CHECKPOINT: folder / "state", MODEL: folder}[moment["during"]].resolve()
    seen = 0

    def hook(event: str, args: tuple) -> None:
        nonlocal seen
        if event != moment["event"] or not isinstance(args[0], (str, os.PathLike)):
            return
        path = Path(args[0])
        if path.suffix == ".tmp" and path.parent == directory:
            seen += 1
            if seen == moment["number"]:
                if moment["delay"]:
                    signal.setitimer(signal.ITIMER_REAL, moment["delay"])
                else:
                    os.kill(os.getpid(), signal.SIGKILL)

    # The default answer to the alarm is the end of the process, at once and without a word, as of SIGKILL.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return hook


def serve() -> None:
    """Fork a run for each line of stdin; answer how it ended. One run of its own before them loads compiled loops."""
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder))
        run(Path(folder))
    for line in sys.stdin:
        task = json.loads(line)
        told, tell = os.pipe()
        process = os.fork()
        if process == 0:
            code = 1
            try:
                if task["moment"] is not None and task["moment"].get("verb"):
                    run_verb(Path(task["folder"]), task["moment"])
                else:
                    run(Path(task["folder"]), task["moment"], tell)
                code = 0
            finally:
                os._exit(code)
        os.close(tell)
        begin = time.perf_counter()
        if task["moment"] is not None and task["moment"]["event"] == "time":
            os.read(told, 1)
            time.sleep(task["moment"]["number"])
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        os.close(told)
        ended = os.waitstatus_to_exitcode(status)
        print(json.dumps({"signal": max(0, -ended), "failed": ended > 0, "seconds": time.perf_counter() - begin}))
        sys.stdout.flush()


@pytest.fixture(scope="module")
def server():
    root = Path(__file__).parents[2]
    program = f"import sys; sys.path.insert(0, {str(root)!r}); from tests.promises.test_killed import serve; serve()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def ask(folder: Path, moment: dict | None) -> dict:
            process.stdin.write(json.dumps({"folder": str(folder), "moment": moment}) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


def moments(seconds: float) -> list[dict]:
    """Twenty of them; `seconds` is what a fit takes that is left alone."""
    rng = np.random.default_rng(9)
    chosen = [{"during": READING, "event": "batch", "number": int(n)} for n in rng.choice(FILES, 4, replace=False)]
    for during, count in ((READING, 1), (CHECKPOINT, 2), (MODEL, 1)):
        for event in ("open", "os.rename"):
            chosen += [{"during": during, "event": event, "number": 1, "delay": 0.0}] * count
    chosen += [
        {"during": CHECKPOINT, "event": "open", "number": 1, "delay": float(delay)}
        for delay in rng.uniform(1e-4, 2e-3, 2)
    ]
    for place in (5, 7, 9, 11):  # renamings of blocks, checkpoints and the model
        chosen[place] = chosen[place] | {"verb": True}
    shares = (np.arange(6) + rng.random(6)) / 6
    return chosen + [{"during": FITTING, "event": "time", "number": float(share * seconds)} for share in shares]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test forks; Windows has no fork")
def test_twenty_runs_that_were_killed_go_on_to_the_same_answer(server, tmp_path):
    folder = tmp_path / "undisturbed"
    folder.mkdir()
    write_rows(folder)
    seen = server(folder, None)
    assert not seen["failed"]
    whole = maxmargin.load(folder / "model").certificate_
    assert whole.status is Status.CONVERGED
    chosen = moments(seen["seconds"])
    assert len(chosen) == 20
    killed = []
    for number, moment in enumerate(chosen):
        folder = tmp_path / f"{number}-{moment['during']}"
        folder.mkdir()
        write_rows(folder)
        ended = server(folder, moment)
        assert not ended["failed"]
        if ended["signal"]:
            killed.append(moment["during"])
        check_whole_files(folder)
        model = run_verb(folder) if moment.get("verb") else run(folder)
        certificate = model.certificate_
        assert certificate.status is Status.CONVERGED
        assert abs(certificate.primal - whole.primal) <= certificate.gap + whole.gap
        assert not [path.name for path in folder.rglob("*.tmp")]  # the next run tidied up
    assert {during: killed.count(during) >= 4 for during in (READING, CHECKPOINT)} == {READING: True, CHECKPOINT: True}
    assert killed.count(MODEL) == 2
    assert len(killed) >= 15  # a fit that was quicker than the first one ends before its time comes


def check_whole_files(folder: Path) -> None:
    """Whatever stands under its final name is whole."""
    for path in (folder / "cache").glob("*.blocks"):
        with maxmargin.open(path) as source:
            assert sum(len(block.y) for block in source) == FILES * ROWS_A_FILE  # each block has a checksum
    if (folder / "model").exists():
        assert maxmargin.load(folder / "model").certificate_.status is Status.CONVERGED
