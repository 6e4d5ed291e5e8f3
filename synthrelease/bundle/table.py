"""data.csv: the released rows as bin labels, sorted, so that their order tells nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthrelease.candidate import Candidate


def labelled(candidate: Candidate) -> pd.DataFrame:
    """The released table: one line per row, bin labels as text, rows in increasing order of their bins."""
    rows = candidate.counts.expand()
    return pd.DataFrame(
        {
            name: np.array(binning.labels, dtype=object)[rows[:, index]]
            for index, (name, binning) in enumerate(
                zip(candidate.counts.layout.columns, candidate.transformation.binnings, strict=True)
            )
        }
    )


def csv_bytes(candidate: Candidate) -> bytes:
    """The released table as UTF-8 CSV with a header and "\\n" line ends on every system."""
    return labelled(candidate).to_csv(index=False, lineterminator="\n").encode("utf-8")
