"""Represent tables: columns and their bins, schemas, plausibility rules, counts of cells, and masks of the plausible cells."""
