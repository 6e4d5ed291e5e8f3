"""Compute re-identification risks: how well an intruder can look up known persons in the synthetic rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.studio.rehearsal.attempts import PublicTable


def matching(public: PublicTable, table: Counts, columns: Sequence[int]) -> np.ndarray:
    """Return the (n_cells,) numbers of rows of `table` that agree with each cell of the public table in these columns."""
    return rows_with(table.project(columns), [public.counts.bins[column] for column in columns])


def rows_with(table: Counts, bins: Sequence[np.ndarray]) -> np.ndarray:
    """Return the (n_asked,) numbers of rows with each combination of bins, given as one (n_asked,) array for each column."""
    at = table.find(bins)
    return np.where(at < 0, 0, table.counts[at]) if len(table) else np.zeros(len(at), dtype=np.int64)


# Risk groups: how many other persons share a person's quasi-identifiers, and the risk figures of each group.

GROUPS = ("low", "medium", "high")

LEAST_OTHERS = 5
"""The default of k_0: a person is at low risk if at least this number of other persons have the same quasi-identifiers."""


def risk_groups(public: PublicTable, quasi_identifiers: Sequence[str], least_others: int = LEAST_OTHERS) -> np.ndarray:
    """Return the (n_cells,) risk groups of the persons in each cell of `public.counts`: 0 low risk, 1 medium, 2 high.

    Let c be the number of other persons with equal categorical quasi-identifiers, or of all others without such columns.
    Let d be the number of these persons whose continuous quasi-identifiers (columns with numbers) are in the same bins,
    too. Low: d >= k_0. Medium: c >= k_0 > d. High: c < k_0. The source describes the rule informally.

    Parameters
    ----------
    least_others : k_0, at least 1.

    Source: Jiang (2025), Short Course on Data Privacy, data-augmented multiple imputation (the text has no page numbers).
    """
    if least_others < 1:
        raise ValueError(f"least_others: expected at least 1, found {least_others}.")
    columns = public.indices("quasi_identifiers", quasi_identifiers)
    categorical = [column for name, column in zip(quasi_identifiers, columns, strict=True) if not public.has_numbers(name)]
    close = matching(public, public.counts, columns) - 1
    alike = matching(public, public.counts, categorical) - 1 if categorical else np.array(public.n - 1)
    return np.where(close >= least_others, 0, np.where(alike >= least_others, 1, 2))


def group_risks(groups: np.ndarray, persons: np.ndarray, risks: np.ndarray, correct: np.ndarray) -> dict[str, float]:
    """Return the risk statistics of each group by name, such as low_mean_risk, or NaN for an empty group.

    share : share of the group among all persons, from 0 to 1. mean_risk, highest_risk : mean and largest I_i of its persons
    (`risk_report`), from 0 to 1. correct_attribution : how often a random match agrees with the person in every other
    column (`risk_report`), from 0 to 1.

    Parameters
    ----------
    groups, persons, risks, correct : (n_cells,) risk group, number of persons, and I_i and correct attribution of each
        person.
    """
    figures: dict[str, float] = {}
    for index, name in enumerate(GROUPS):
        inside = groups == index
        size = int(persons[inside].sum())
        figures[f"{name}_share"] = size / int(persons.sum())
        figures[f"{name}_mean_risk"] = float(persons[inside] @ risks[inside]) / size if size else math.nan
        figures[f"{name}_highest_risk"] = float(risks[inside].max()) if size else math.nan
        figures[f"{name}_correct_attribution"] = float(persons[inside] @ correct[inside]) / size if size else math.nan
    return figures


def risk_report(
    public: PublicTable, copies: Sequence[Counts], *, quasi_identifiers: Sequence[str], least_others: int = LEAST_OTHERS
) -> dict[str, float]:
    """Return risk statistics of M synthetic copies of one public table of n persons, by name.

    For a person i and a copy m, s synthetic rows match i on the quasi-identifiers, and a of them in all other columns, too.

    mean_risk : sum_i I_i / n, the expected share of persons whose own row is picked among the matches. I_i is the mean over
    the copies of 1/s, or of 0 where s = 0. As in the source, one of the matching rows is assumed to belong to the person.
    Synthetic rows belong to nobody, so `mean_risk` is an upper bound. highest_risk : the largest I_i. mean_risk_of_original
    : mean_risk if the original itself were released, for comparison. correct_attribution : how often a random match agrees
    with the person in every other column, from 0 to 1: the mean over persons and copies of a/s, or of 0 where s = 0.
    true_match_rate : share of the persons with s = 1 and a = 1: a single match, which agrees in all columns. From 0 to 1.
    false_match_rate : share of the unique matches that are false (a = 0); NaN when there is no unique match.
    replicated_uniques : share with s = 1 among the persons whom nobody else matches in the original; NaN when there is no
    such person. low_mean_risk, ... : the same for persons of low, medium and high risk (`group_risks`).

    Parameters
    ----------
    copies : M >= 1 synthetic tables over the bins of the public one.
    quasi_identifiers : columns that an intruder knows of every person.
    least_others : k_0 of the risk groups: with at least this number of similar other persons, a person is at low risk.

    Raises
    ------
    TypeError : if a table is not public counts.
    ValueError : for copies over other bins, for unknown columns, or without a known column.

    Notes
    -----
    The source gives I_i for partially synthetic data, whose rows still belong to persons. In the match rates of Reiter and
    Mitra, agreement in all columns replaces the identity, which synthetic rows lack. So if every column is a
    quasi-identifier, each unique match is true. A true match may also be the prediction of a good model for every similar
    person.

    Source
    ------
    Jiang (2025), Short Course on Data Privacy, the two slides from "Let t_i represents the vector of the quasi-identifiers"
    on (the text has no page numbers); Reiter and Mitra, J. Privacy and Confidentiality 1 (2009), for the rates; Nowok,
    Raab, Dibben (2016), synthpop, for the replicated uniques.

    Privacy
    -------
    There is no guarantee: the statistics are exact functions of the original. So the original must be a `PublicTable`.
    """
    public.check_copies(copies)
    if not quasi_identifiers:
        raise ValueError("quasi_identifiers is empty. Name at least one column.")
    identifying, every = public.indices("quasi_identifiers", quasi_identifiers), tuple(range(len(public.columns)))
    persons, n = public.counts.counts, public.n
    at_home = matching(public, public.counts, identifying)
    matches = np.array([matching(public, copy, identifying) for copy in copies])
    agreeing = np.array([matching(public, copy, every) for copy in copies])
    risks = _inverse(matches).mean(axis=0)
    correct = (agreeing * _inverse(matches)).mean(axis=0)
    unique = (matches == 1).sum(axis=0) / len(copies)
    true = ((matches == 1) & (agreeing == 1)).sum(axis=0) / len(copies)
    unique_matches, alone = float(persons @ unique), persons[at_home == 1]
    figures = {
        "mean_risk": float(persons @ risks) / n,
        "mean_risk_of_original": float(persons @ _inverse(at_home)) / n,
        "highest_risk": float(risks.max()),
        "correct_attribution": float(persons @ correct) / n,
        "true_match_rate": float(persons @ true) / n,
        "false_match_rate": float(persons @ (unique - true)) / unique_matches if unique_matches else math.nan,
        "replicated_uniques": float(alone @ unique[at_home == 1]) / float(alone.sum()) if len(alone) else math.nan,
    }
    return figures | group_risks(risk_groups(public, quasi_identifiers, least_others), persons, risks, correct)


def _inverse(matches: np.ndarray) -> np.ndarray:
    return np.where(matches > 0, 1 / np.maximum(matches, 1), 0.0)
