"""The files of `make quick`, each with the reason why it is there.

Together they touch every room: the closed forms and naive references on which the mathematics stands, certificates that
are checked, one small run of every solver and estimator. What takes a second or more, watches the clock, goes through a
real terminal or builds the site waits for `make test`.
"""

FILES = {
    "losses/test_losses.py": "curve and conjugate of every loss",
}
