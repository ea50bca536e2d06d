"""Tables that read the same on a terminal and in a Markdown file, and the machine they were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from rich import box
from rich.table import Table

RESULTS = Path(__file__).parents[1] / "results"
LEFT = ("library", "solver", "note", "figure", "case")


@dataclass
class Sheet:
    """A titled table with notes below it."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def for_terminal(self) -> Table:
        """As rich prints it."""
        caption = "\n".join(self.notes) or None
        table = Table(
            title=self.title, caption=caption, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD
        )
        for column in self.columns:
            whole = column == "library"
            table.add_column(column, justify="left" if column in LEFT else "right", overflow="fold", no_wrap=whole)
        for row in self.rows:
            table.add_row(*row)
        return table

    def for_file(self, level: int) -> str:
        """As Markdown, under a heading of that level."""
        rule = ["---" if column in LEFT else "---:" for column in self.columns]
        lines = [_line(self.columns), _line(rule), *(_line(row) for row in self.rows)]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([f"{'#' * level} {self.title}", "", *lines, *(["", *notes] if notes else []), ""])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write(
    name: str, title: str, text: str, about: Sequence[str], summary: Sequence[Sheet], cases: Sequence[Sheet]
) -> str:
    """A file of results: what was measured and how, where, what it comes to, and case by case; returns its path."""
    head = [f"# {title}", "", text.rstrip(), "", *(f"- {line}" for line in about), ""]
    parts = [*head, *(sheet.for_file(2) for sheet in summary), "## Cases", "", *(sheet.for_file(3) for sheet in cases)]
    path = RESULTS / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(parts))
    return str(path.relative_to(RESULTS.parents[1]))


def machine() -> list[str]:
    """Cores, processor, memory, how busy they were, and the versions that matter to us."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("maxmargin", "numpy", "scipy", "numba"))
    return [
        f"{os.cpu_count()} cores, {_processor()}, {_memory()}, load at the start {os.getloadavg()[0]:.1f}",
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {packages}",
    ]


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "processor unknown"


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB of memory"
    except (ValueError, OSError):
        return "memory unknown"
