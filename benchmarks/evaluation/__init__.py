"""Leave-one-out against refits, and folds that begin where the whole fit ended."""
