"""Sessions at a terminal: in a `sh` block that begins with a prompt, only what follows a prompt is a command.

Without this the output would be coloured as if it were a program, too.
"""

from __future__ import annotations

import re
from typing import Any

SESSION = re.compile(r"^```sh\n(?=\$ )", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Name the language of a session."""
    return SESSION.sub("```console\n", markdown)
