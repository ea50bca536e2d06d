"""Compiled loops that read text: numbers, labels, cells and rows."""
