"""The reference: interior points, to the last digits, for a few thousand rows."""
