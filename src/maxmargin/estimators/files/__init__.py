"""Fitted models to files and back: the native format, and those of LIBSVM and LIBLINEAR."""
