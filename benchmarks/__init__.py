"""Benchmarks: time, objective and gap for us and for the peers, side by side in one run. `make bench` runs them all."""
