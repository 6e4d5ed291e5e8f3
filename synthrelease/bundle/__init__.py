"""Write the files of a release: the released table and its documents. `verify` writes these files again and compares."""
