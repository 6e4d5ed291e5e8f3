"""Noise, drawn by exact inversion of random bits.

`laws` computes the cumulative probabilities of a law between certified bounds, `tables` draws from a law with as many random
bits as a draw needs, `noise` makes discrete Laplace and `rounded` rounded Gaussian variables of it. No float is involved.
"""
