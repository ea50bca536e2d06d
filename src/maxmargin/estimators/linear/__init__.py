"""Machines with one weight a feature."""
