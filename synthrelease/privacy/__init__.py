"""What privacy costs: charges and their composition, Renyi curves, selection, neighbours, the number of rows, the plan of a
release and what it guarantees.

Noise, drawn by exact inversion of random bits.

`laws` computes the cumulative probabilities of a law between certified bounds, `tables` draws from a law with as many random
bits as a draw needs, `noise` makes discrete Laplace and `rounded` rounded Gaussian variables of it. No float is involved.

The budget of a private dataset across runs: the account on disk, its entries as values, and how files survive crashes.
"""
