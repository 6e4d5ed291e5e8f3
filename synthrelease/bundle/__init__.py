"""The files that leave the enclave: the released table and the documents that describe it; `verify` makes them once more."""
