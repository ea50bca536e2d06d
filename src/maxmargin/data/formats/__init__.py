"""How bytes become rows, and rows bytes: text, tables, arrays and block files."""
