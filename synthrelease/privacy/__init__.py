"""Compute privacy costs (charges, Renyi curves, selection, plan, ledger), and draw all noise exactly from random bits, without
floats."""
