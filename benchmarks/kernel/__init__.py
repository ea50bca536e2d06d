"""Kernel machines against their peers."""
