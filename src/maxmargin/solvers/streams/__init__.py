"""Trainers of linear machines on rows that do not fit into memory."""
