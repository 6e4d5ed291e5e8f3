"""Write the files of a release: the released table and its documents. `verify` uses the same code to compare them."""
