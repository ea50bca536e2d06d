"""Data larger than memory: the three trainers, their memory, and how fast files are read."""
