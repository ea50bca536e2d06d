"""Machines with kernels."""
