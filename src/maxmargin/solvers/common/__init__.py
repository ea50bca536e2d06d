"""What solvers of all rooms share."""
