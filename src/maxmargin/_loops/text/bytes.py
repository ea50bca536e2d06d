"""Names of the bytes that text is made of, as numbers: compiled loops would look letters up each time."""

from __future__ import annotations

SPACE, TAB, LINE_FEED, RETURN = b" \t\n\r"
HASH, COLON, QUOTE = b'#:"'
PLUS, MINUS, POINT = b"+-."
ZERO, NINE = b"09"
SMALL_E, CAPITAL_E = b"eE"
