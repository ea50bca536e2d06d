"""Decision trees: growing, pruning, and the tree itself."""
