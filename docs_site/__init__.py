"""What turns the pages of `docs` into the site: included code, formulas, docstrings and sessions at a terminal."""
