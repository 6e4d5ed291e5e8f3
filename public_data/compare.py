"""Print the surrogate and another file of births side by side, as Markdown.

Both files first lose the rows that are incomplete or break the plausibility rules of the release. The rest is compared
in the bins of the release. Both files are taken to be public: the tables are exact, nothing here is private.

Usage: ``python public_data/compare.py --other FILE`` with a CSV file in the columns of the surrogate.
"""

import argparse
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
AGE_EDGES, PARITY_EDGES = (18, 20, 25, 30, 35, 40, 43, 45), (2, 4, 7, 11)
WEEK_EDGES, WEIGHT_EDGES = (29, 32, 34, 37, 42), tuple(range(1500, 4501, 100))
# Column -> inner bin edges, each the first value of its bin; the outermost bins are open.
BINS: dict[str, dict[str, tuple[int, ...]]] = {
    "mother_age": {"9 bins": AGE_EDGES, "10 bins": (18, 20, 25, 30, 35, 37, 40, 43, 45), "years": tuple(range(18, 46))},
    "parity": {"5 bins": PARITY_EDGES, "single": tuple(range(2, 12))},
    "gestation_week": {"6 bins": WEEK_EDGES, "weeks": tuple(range(29, 43))},
    "birth_weight": {"32 bins": WEIGHT_EDGES},
    "birth_month": {"months": tuple(range(2, 13))},
    "is_female": {"sex": (1,)},
}
GROUPS: dict[str, tuple[int, ...]] = {
    "mother_age": (25, 30, 35),
    "parity": (2, 4),
    "gestation_week": (37,),
    "is_female": (1,),
    "birth_weight": (2500, 4000),
}
GROUPED_MEANS = {
    "parity": ("", "mother_age"),
    "birth_weight": ("", "is_female", "parity", "gestation_week", "mother_age"),
    "gestation_week": ("", "parity", "mother_age"),
}
PAIRS = (("mother_age", "parity"), ("gestation_week", "birth_weight"), ("parity", "birth_weight"),
         ("mother_age", "birth_weight"), ("gestation_week", "parity"), ("is_female", "birth_weight"))  # fmt: skip
FEATURES = ["birth_month", "mother_age", "parity", "gestation_week", "is_female"]
COARSE = {"mother_age": AGE_EDGES, "parity": PARITY_EDGES, "gestation_week": WEEK_EDGES, "birth_weight": WEIGHT_EDGES}
COMMON_SHARE, RARE_SHARE = 0.02, 0.01


def read_births(path: Path) -> tuple[pd.DataFrame, float]:
    """Read a file; return its plausible rows, all columns as integers, and the share of rows that were dropped."""
    births = pd.read_csv(path)
    n_rows = len(births)
    births = births.dropna()
    births["birth_month"] = births.pop("date_of_birth").str[5:7].astype(int)
    births = births.astype(dict.fromkeys(births.columns, int))
    age, parity = births["mother_age"], births["parity"]
    week, grams = births["gestation_week"], births["birth_weight"]
    implausible = (
        (grams < 500) | (grams > 5500) | (week < 22) | (week > 44)
        | ((age < 23) & (parity > 6)) | ((age < 20) & (parity > 3))
        | ((week < 26) & (grams > 1499)) | ((week < 29) & (grams > 2999)) | ((week < 34) & (grams > 3999))
        | ((grams < 600) & (week > 29)) | ((grams < 700) & (week > 32))
    )  # fmt: skip
    births = births[~implausible].reset_index(drop=True)
    return births, 1 - len(births) / n_rows


def labels(column: str, edges: Sequence[int]) -> list[str]:
    """Name the bins of a column, lowest first, from the first values of all bins but the lowest."""
    if column == "is_female":
        return ["M", "F"]
    if column == "birth_month":
        return list(MONTHS)
    inner = [str(low) if high - low == 1 else f"{low}-{high - 1}" for low, high in pairwise(edges)]
    lowest = "1" if column == "parity" else f"<{edges[0]}"
    return [lowest, *inner, f">{edges[-1] - 1}"]


def numbers(births: pd.DataFrame) -> pd.DataFrame:
    """Replace each value by the number of its coarse bin: single value, mean of bounds, or the edge of an open bin."""
    result = births.copy()
    for column, edges in COARSE.items():
        middle = [(low + high - 1) / 2 for low, high in pairwise(edges)]
        lowest = 1 if column == "parity" else edges[0]
        values = np.array([lowest, *middle, edges[-1] - 1])
        result[column] = values[np.digitize(births[column], edges)]
    return result


def shares(births: pd.DataFrame, column: str, edges: Sequence[int]) -> pd.Series:
    """Return the share of births in each bin."""
    counts = np.bincount(np.digitize(births[column], edges), minlength=len(edges) + 1)
    return pd.Series(counts / len(births), index=labels(column, edges))


def joint_shares(births: pd.DataFrame, first: str, second: str) -> np.ndarray:
    """Return the share of births in each cell of the first bins of two columns, of shape (n_first, n_second)."""
    edges = [next(iter(BINS[column].values())) for column in (first, second)]
    shape = (len(edges[0]) + 1, len(edges[1]) + 1)
    codes = np.ravel_multi_index((np.digitize(births[first], edges[0]), np.digitize(births[second], edges[1])), shape)
    return np.bincount(codes, minlength=shape[0] * shape[1]).reshape(shape) / len(births)


def regression(births: pd.DataFrame) -> pd.DataFrame:
    """Regress birth_weight on the features by least squares; one row per term, in grams per unit and per SD."""
    design = np.column_stack([np.ones(len(births)), births[FEATURES].to_numpy(dtype=float)])
    raw, *_ = np.linalg.lstsq(design, births["birth_weight"].to_numpy(dtype=float), rcond=None)
    spread = births[FEATURES].std().to_numpy()
    mean = births[FEATURES].mean().to_numpy()
    return pd.DataFrame(
        {"raw": raw, "per SD": [np.nan, *raw[1:] * spread], "mean": [np.nan, *mean], "SD": [np.nan, *spread]},
        index=["intercept", *FEATURES],
    )


def distinct_cells(births: pd.DataFrame) -> int:
    """Count the distinct rows in the coarse bins of all six columns."""
    coarse = births.assign(**{column: np.digitize(births[column], edges) for column, edges in COARSE.items()})
    return len(coarse.drop_duplicates())


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print one Markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def print_marginals(surrogate: pd.DataFrame, other: pd.DataFrame, names: Sequence[str]) -> None:
    """Print every one-way marginal, and first a table of the largest differences."""
    summary, tables = [], []
    for column, alternatives in BINS.items():
        for name, edges in alternatives.items():
            mine, theirs = shares(surrogate, column, edges), shares(other, column, edges)
            difference = 100 * (mine / theirs - 1)
            classes = (theirs >= COMMON_SHARE, (theirs < COMMON_SHARE) & (theirs >= RARE_SHARE), theirs < RARE_SHARE)
            largest = [difference[members].abs().max() for members in classes]
            summary.append([column, name, *("" if np.isnan(value) else f"{value:.2f}%" for value in largest)])
            cells = zip(theirs.index, 100 * mine, 100 * theirs, difference, strict=True)
            tables.append((column, name, [[label, f"{a:.3f}", f"{b:.3f}", f"{c:+.2f}%"] for label, a, b, c in cells]))
    print("## One-way marginals\n\nLargest relative difference, by the share of births in the bin in the other file.\n")
    header = [f"{COMMON_SHARE:.0%} or more", f"{RARE_SHARE:.0%} to {COMMON_SHARE:.0%}", f"under {RARE_SHARE:.0%}"]
    print_table(["column", "bins", *header], summary)
    for column, name, rows in tables:
        print(f"### {column}, {name}: per cent of births\n")
        print_table([column, *names, "relative difference"], rows)


def print_means(surrogate: pd.DataFrame, other: pd.DataFrame, names: Sequence[str]) -> None:
    """Print the conditional means that the release's criteria look at."""
    print("## Conditional means\n")
    rows = []
    for target, columns in GROUPED_MEANS.items():
        for column in columns:
            edges = GROUPS.get(column, ())
            for index, label in enumerate(labels(column, edges) if column else ["all"]):
                means = [
                    table.loc[np.digitize(table[column], edges) == index if column else table.index, target].mean()
                    for table in (surrogate, other)
                ]
                group = f"{column} {label}".strip()
                rows.append([target, group, f"{means[0]:.3f}", f"{means[1]:.3f}", f"{means[0] - means[1]:+.3f}"])
    print_table(["mean of", "group", *names, "difference"], rows)


def print_joint_structure(surrogate: pd.DataFrame, other: pd.DataFrame, names: Sequence[str]) -> None:
    """Print two-way differences, distinct rows and correlations."""
    print("## Two-way marginals\n\nDifferences of cell shares, in percentage points; in the coarse bins.\n")
    rows = []
    for first, second in PAIRS:
        gap = 100 * np.abs(joint_shares(surrogate, first, second) - joint_shares(other, first, second))
        rows.append([f"{first}, {second}", f"{gap.max():.3f}", f"{gap.sum() / 2:.2f}"])
    print_table(["columns", "largest cell difference", "total variation"], rows)
    counts = [distinct_cells(surrogate), distinct_cells(other)]
    print(f"Distinct rows in the coarse bins of all columns: {counts[0]:,} ({names[0]}), {counts[1]:,} ({names[1]}).\n")
    print("## Correlations\n\nEach cell: " + " / ".join(names) + ".\n")
    columns = [*FEATURES, "birth_weight"]
    mine, theirs = surrogate[columns].corr(), other[columns].corr()
    rows = [[row, *(f"{mine.loc[row, c]:.3f} / {theirs.loc[row, c]:.3f}" for c in columns)] for row in columns]
    print_table(["", *columns], rows)


def print_regressions(surrogate: pd.DataFrame, other: pd.DataFrame, names: Sequence[str]) -> None:
    """Print the regression on raw values and on the numbers of the coarse bins."""
    for title, tables in (
        ("values as recorded", (surrogate, other)),
        ("numbers of the coarse bins", (numbers(surrogate), numbers(other))),
    ):
        print(f"## Regression of birth_weight: {title}\n\nGrams per unit and per standard deviation of the feature.\n")
        fits = [regression(table) for table in tables]
        header = [f"{quantity}, {name}" for quantity in fits[0].columns for name in names]
        rows = [
            [term, *("" if np.isnan(fit.loc[term, q]) else f"{fit.loc[term, q]:.4f}" for q in fits[0] for fit in fits)]
            for term in fits[0].index
        ]
        print_table(["term", *header], rows)


def main() -> None:
    """Read both files and print all tables."""
    parser = argparse.ArgumentParser(description="Compare the surrogate with another file of births.")
    here = Path(__file__).parent
    parser.add_argument("--surrogate", type=Path, default=here / "births_surrogate.csv.gz", help="the surrogate")
    parser.add_argument("--other", type=Path, required=True, help="CSV file with the same columns")
    parser.add_argument("--names", nargs=2, default=["surrogate", "NVSS"], help="what to call the two files")
    arguments = parser.parse_args()
    names = arguments.names
    (surrogate, surrogate_dropped), (other, other_dropped) = map(read_births, (arguments.surrogate, arguments.other))
    print("## Rows\n")
    print_table(["", *names], [
        ["plausible rows", f"{len(surrogate):,}", f"{len(other):,}"],
        ["dropped by the plausibility rules", f"{surrogate_dropped:.3%}", f"{other_dropped:.3%}"],
    ])  # fmt: skip
    print_marginals(surrogate, other, names)
    print_means(surrogate, other, names)
    print_joint_structure(surrogate, other, names)
    print_regressions(surrogate, other, names)


if __name__ == "__main__":
    main()
