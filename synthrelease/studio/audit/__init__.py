"""Audit the guarantee of this program on made-up tables, for reviewers (`synthrelease audit`, docs/audit.md).

- `sensitivity`: no criterion value or measurement changes by more than the sensitivity for which its noise was chosen, for
  every tiny table, every neighbour and every synthetic table.
- `selection`: the distribution of the result of the rounds, in exact fractions. No ratio of probabilities exceeds the claim.
- `losses`: the privacy loss of all noisy answers of a fit for two neighbouring tables, from their exact distributions. The
  audit is only passed if it also finds every fault of generators with known faults.

The tests run mechanisms and whole releases many times (`python -m tests.whole.drawn`). The audit reads no private file.
"""
