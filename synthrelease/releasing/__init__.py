"""Run a release whose budget is reserved: check the table, make attempts, select among rounds, and return the result."""
