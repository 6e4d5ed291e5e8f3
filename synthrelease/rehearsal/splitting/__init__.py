"""The split of a release's budget between measured tables, sums and the joint test, chosen by rehearsal on public data."""
