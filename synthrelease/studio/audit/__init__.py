"""Audit the guarantee of this program on made-up tables, for reviewers (`synthrelease audit`, docs/audit.md).

The audit has three parts:

- `sensitivity`: for every tiny table, every neighbour and every synthetic table, no criterion value or measurement changes by
  more than its noise is made for;
- `selection`: the distribution of the result of the rounds, in exact fractions: no ratio of probabilities exceeds the claim;
- `losses`: the privacy loss of all noisy answers of a fit for two neighbouring tables, from their exact distributions. Faulty
  generators are audited, too, and must be found, because an audit that can find nothing would prove nothing.

The tests run mechanisms and whole releases many times (`python -m tests.whole.drawn`). No part of the audit reads a private
file."""
