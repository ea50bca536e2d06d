"""Words of the command line that the races share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection


def names(known: Collection[str]) -> Callable[[str], list[str]]:
    """Names with commas between them, each of which must be known."""

    def convert(text: str) -> list[str]:
        found = text.split(",")
        unknown = [name for name in found if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)} unknown; known: {', '.join(known)}")
        return found

    return convert


def numbers(text: str) -> list[float]:
    """Numbers with commas between them."""
    return [float(number) for number in text.split(",")]
