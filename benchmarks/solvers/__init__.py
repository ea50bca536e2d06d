"""Our solvers against each other, and the reference against scikit-learn."""
