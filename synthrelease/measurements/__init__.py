"""Noisy tables and sums as values: what is asked for, what was measured, what becomes of it on coarser bins; the laws of their
noise, and how far their sums are off at most."""
