"""data.csv: the released rows as bin labels, sorted, so that their order tells nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from synthrelease.candidate import Candidate

if TYPE_CHECKING:
    import pandas as pd


def labelled(candidate: Candidate) -> pd.DataFrame:
    """The released table: one line per row, bin labels as text, rows in increasing order of their bins."""
    import pandas as pd  # half a second to import: only when a table is written

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
