"""Linear machines against their peers."""
