"""Compiled loops of the kernel machines: values, sums, working sets and pair steps."""
