"""Which piece of the register this release reads, where the ledger has split it; its settings follow below. Left out, it reads
all rows. Example: `split = { by = "certificate", piece = 1, of = 2 }`."""
