"""The complete copies of a released table in plain words: how to use them, and what they assume."""

from __future__ import annotations

from synthrelease.bundle.card.numbers import figure, words
from synthrelease.published.document import ReleaseDocument


def sentences(document: ReleaseDocument) -> list[str]:
    """What readers must know about complete copies, or about there being none; empty where they are not asked for."""
    part = document.imputation
    if part is None:
        return []
    if part.failed:
        return [
            f"Complete copies of the table were wanted, but could not be made: {part.failed}. The table itself, in which "
            "missing values are a bin of their own, met all criteria and was released."
        ]
    times = "once" if part.smallest == 1 else f"{part.smallest} times"
    return [
        f"{figure(part.rows)} of the released rows have a gap. {document.imputed} has {part.copies} complete copies of the "
        f"table: .imp is the number of the copy, .id the row of {document.csv}, .imputed the columns that were filled in. "
        f"Observed values are as in {document.csv}. Figures and criteria are about the table with its gaps, and not about the "
        "copies.",
        f"A gap was filled with the values of a released row that has them, drawn among those that agree in "
        f"{', '.join(words(name) for name in part.match)}; in fewer of these, from the last one back, until {part.donors} rows "
        "agreed. Where the plausibility rules demand that a value is missing, as of a question that was not asked, it stays "
        "missing. No original record was looked at, so it cost no privacy. No filled row breaks a plausibility rule, and every "
        f"row of a copy occurs at least {times} in it, because equal incomplete rows were filled in blocks.",
        "This assumes that, among rows that agree in these columns, whether a value is missing has nothing to do with the "
        "value (missing at random). Nothing here can tell whether that is so.",
        "Compute an estimate in each copy and combine them by Rubin's rule: the mean of the estimates, with the variance "
        "v + (1 + 1/M) b, v the mean of the M variances and b the variance between the M estimates. One copy alone looks more "
        "certain than it is. As everywhere here, v leaves out the error of the synthesis.",
    ]
