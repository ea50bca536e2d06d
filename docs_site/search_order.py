"""Which pages the search box shows first: those that explain before those that list.

Without this the reference wins every search, because it says each name again for every estimator, and the gallery finds
words that occur only in the code of its scripts.
"""

from __future__ import annotations

from typing import Any

WEIGHTS = {"api/": 0.4, "gallery.md": 0.2, "theory/": 0.8}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """Give a page its weight in the search."""
    place = page.file.src_uri
    weight = next((weight for begins, weight in WEIGHTS.items() if place.startswith(begins)), 1.0)
    page.meta["search"] = {"boost": weight}
