"""The audit: the guarantee of this program put to the test, by enumeration and by statistics, on made-up tables.

Three parts, each of which a reviewer can run on their own machine (`synthrelease audit`, docs/audit.md):

- `sensitivity`: every tiny table, every neighbour, every synthetic table: no figure moves by more than its noise pays for;
- `selection`: the output law of the selection loop in exact fractions: no ratio above the claim;
- `cases`: every mechanism, and whole releases, run many times on neighbouring tables with the operating system's entropy:
  no event is more likely on one side than the claimed epsilon allows. Faulty mechanisms are audited beside the real ones
  and must be found, so that an audit which could find nothing does not pass for a good one.

Nothing here reads a private file. There is no seed: the operating system's generator is part of what is audited.
"""
