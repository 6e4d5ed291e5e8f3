"""Noisy tables and sums as values: what is asked for, what was measured, and what becomes of it on coarser bins."""
