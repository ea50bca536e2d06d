"""What the estimators share on the way of a fit: check, specify, train, certify, store."""
