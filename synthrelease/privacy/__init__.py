"""Compute privacy costs (charges, Renyi curves, selection, plan, ledger), and draw all noise exactly from random bits.

`exact_bounds` computes certified bounds of cumulative probabilities, `samplers` draws from these distributions with as many
random bits as a draw needs, and `noise` offers the mechanisms. The noise is computed without floats.
"""
