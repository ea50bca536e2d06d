"""The lectures' algorithms, for teaching and comparison."""
