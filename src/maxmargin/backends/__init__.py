"""Where work runs: the threads of this process, and later other devices."""
