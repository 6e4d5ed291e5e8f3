"""What can be estimated from the published noisy tables, in plain words."""

from __future__ import annotations

from synthrelease.bundle.card.numbers import share
from synthrelease.published.document import ReleaseDocument


def sentences(document: ReleaseDocument) -> list[str]:
    """How to estimate, and from which columns; empty where no noisy tables are published."""
    part = document.estimates
    if part is None:
        return []
    together = "; ".join(" × ".join(table) for table in part.together)
    return [
        "The noisy tables that the rows were made from are published (measurements.json). Shares, means and slopes of linear "
        f"regressions can be estimated from them with {share(float(part.level), 0)} intervals, one for the original table and "
        "one for a population of which it is a simple random sample: synthrelease estimate, which reads this folder and "
        "nothing else. Standard errors computed from the synthetic rows leave out the noise and are too small.",
        f"Measured together, so that questions about columns of one of these have an estimate: {together}.",
    ]
