"""The audit: the guarantee of this program put to the test, on made-up tables.

Three parts, each of which a reviewer can run on their own machine (`synthrelease audit`, docs/audit.md):

- `sensitivity`: every tiny table, every neighbour, every synthetic table: no figure moves by more than its noise pays for;
- `selection`: the output law of the selection loop in exact fractions: no ratio above the claim;
- `losses`: what all answers of a fit tell of two neighbouring tables, from their exact laws. Faulty generators are beside the
  real ones and must be found, so that an audit which could find nothing does not pass for a good one.

Mechanisms and whole releases are run many times by the tests (`python -m tests.whole.drawn`).
Nothing here reads a private file.
"""
