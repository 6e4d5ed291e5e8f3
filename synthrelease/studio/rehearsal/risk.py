"""Re-identification risk: what an intruder learns by looking known persons up in the synthetic rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.studio.rehearsal.attempts import PublicTable

# A look-up of persons: how many rows of a synthetic table match each cell of a public one on its quasi-identifiers.


@dataclass(frozen=True, kw_only=True, eq=False)
class LookUp:
    """How to find the matches of every cell of the public table.

    `windows[q]` has, for each step between bins of quasi-identifier q, the (n_bins,) mask of the bins from which the step
    leads to a bin in range.
    """

    public: PublicTable
    columns: tuple[int, ...]
    windows: tuple[Mapping[int, np.ndarray], ...]

    @classmethod
    def of(cls, public: PublicTable, quasi_identifiers: Sequence[str], within: Mapping[str, float]) -> LookUp:
        if not quasi_identifiers:
            raise ValueError("quasi_identifiers: expected at least one column, found none.")
        columns = public.indices("quasi_identifiers", quasi_identifiers)
        public.indices("within", within)
        for name, distance in within.items():
            if name not in quasi_identifiers:
                raise ValueError(f"within: expected quasi-identifiers, found {name!r}, which is none.")
            if not (0 <= distance < math.inf):
                raise ValueError(f"within.{name}: expected a distance of at least 0, found {distance}.")
        windows = []
        for name, column in zip(quasi_identifiers, columns, strict=True):
            bins = np.arange(public.counts.layout.sizes[column])
            near = bins[:, None] == bins
            if within.get(name):  # at a distance of 0 the same bin alone, also where another one has the same number
                numbers = public.numbers("within", name)
                near = near | (np.abs(numbers[:, None] - numbers) <= within[name])  # missing values are near each other alone
            steps = {step: np.diagonal(near, step) for step in range(1 - len(bins), len(bins))}
            windows.append({step: _from(mask, step, len(bins)) for step, mask in steps.items() if mask.any()})
        return cls(public=public, columns=columns, windows=tuple(windows))

    def matching(self, table: Counts) -> np.ndarray:
        """(n_cells,) rows of `table` that match the quasi-identifiers of each public cell."""
        return self._found(table.project(self.columns), self.columns)

    def agreeing(self, table: Counts) -> np.ndarray:
        """(n_cells,) those of the matching rows that agree in all other columns."""
        return self._found(table, tuple(range(len(table.layout.sizes))))

    def _found(self, table: Counts, columns: tuple[int, ...]) -> np.ndarray:
        """`table` has the given columns of the public table, in this order."""
        bins = {column: self.public.counts.bins[column] for column in columns}
        found = np.zeros(len(self.public.counts), dtype=np.int64)
        for steps in self._steps():
            inside = np.all([mask[bins[column]] for column, _, mask in steps], axis=0)
            stepped = {column: bins[column][inside].astype(np.int64) + step for column, step, _ in steps}
            at = table.find([stepped[column] if column in stepped else bins[column][inside] for column in columns])
            found[inside] += np.where(at < 0, 0, table.counts[at])
        return found

    def _steps(self) -> Iterator[tuple[tuple[int, int, np.ndarray], ...]]:
        """Every combination of steps: (column, step, mask of the bins it may start from) per quasi-identifier."""
        yield from product(
            *(
                [(column, step, mask) for step, mask in windows.items()]
                for column, windows in zip(self.columns, self.windows, strict=True)
            )
        )


def _from(diagonal: np.ndarray, step: int, size: int) -> np.ndarray:
    """(size,) mask by starting bin, from the diagonal of a matrix of pairs (from, to)."""
    mask = np.zeros(size, dtype=bool)
    start = max(0, -step)
    mask[start : start + len(diagonal)] = diagonal
    return mask


# Groups of risk: how many other persons share a person's quasi-identifiers, and what becomes of each group.

GROUPS = ("low", "medium", "high")

LEAST_OTHERS = 5
"""k_0: others among whom a person is taken to be hidden, by default."""


@dataclass(frozen=True, kw_only=True)
class GroupRisk:
    """Risk figures of one group of persons; NaN where it is empty.

    Attributes
    ----------
    name : low, medium or high.
    share : of all persons, from 0 to 1.
    mean_risk, highest_risk : mean and largest I_i of its persons (`risk.RiskReport`), from 0 to 1.
    correct_attribution : how often a random match is right in every other column, from 0 to 1.
    """

    name: str
    share: float
    mean_risk: float
    highest_risk: float
    correct_attribution: float


def risk_groups(
    public: PublicTable,
    quasi_identifiers: Sequence[str],
    within: Mapping[str, float] | None = None,
    least_others: int = LEAST_OTHERS,
) -> np.ndarray:
    """(n_cells,) 0, 1 or 2, low, medium or high risk, of the persons in each cell of `public.counts`.

    Let c be the number of other persons with equal categorical quasi-identifiers, and d the number of those whose continuous
    ones are in range. Low: d >= k_0. Medium: c >= k_0 > d. High: c < k_0. The source is informal; this is the rule here.
    Where no quasi-identifier is categorical c counts all other persons.

    Parameters
    ----------
    within : for each continuous quasi-identifier, how far its number may be off, in the unit of the column. By default those
        with numbers are continuous, and only the same bin is in range.
    least_others : k_0, at least 1.

    Source: Jiang (2025), Short Course on Data Privacy, data-augmented multiple imputation (the text has no page numbers).
    """
    if least_others < 1:
        raise ValueError(f"least_others: expected at least 1, found {least_others}.")
    if within is None:
        within = {name: 0.0 for name in quasi_identifiers if name in public.columns and public.has_numbers(name)}
    close = LookUp.of(public, quasi_identifiers, within).matching(public.counts) - 1
    categorical = [name for name in quasi_identifiers if name not in within]
    alike = LookUp.of(public, categorical, {}).matching(public.counts) - 1 if categorical else np.array(public.n - 1)
    return np.where(close >= least_others, 0, np.where(alike >= least_others, 1, 2))


def group_risks(groups: np.ndarray, persons: np.ndarray, risks: np.ndarray, correct: np.ndarray) -> tuple[GroupRisk, ...]:
    """The figures of each group, from (n_cells,) arrays: the group, the persons, their I_i and their correct attribution."""
    found = []
    for number, name in enumerate(GROUPS):
        inside = groups == number
        size = int(persons[inside].sum())
        found.append(
            GroupRisk(
                name=name,
                share=size / int(persons.sum()),
                mean_risk=float(persons[inside] @ risks[inside]) / size if size else math.nan,
                highest_risk=float(risks[inside].max()) if size else math.nan,
                correct_attribution=float(persons[inside] @ correct[inside]) / size if size else math.nan,
            )
        )
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class RiskReport:
    """Non-private risk figures of M synthetic copies of one public table of n persons.

    For a person i and a copy m let s be the number of synthetic rows that match i on the quasi-identifiers, and a the
    number of those that agree with i in all other columns, too.

    Attributes
    ----------
    public_because : why the original may be compared without noise.
    quasi_identifiers : the columns that the intruder knows of every person.
    n_rows, n_copies : n and M.
    expected_match_risk : sum_i I_i, expected number of persons that are picked, from 0 to n, where I_i is the mean over the
        copies of 1/s, or of 0 where s = 0. It supposes, as the source does, that one of the matching rows is the
        person's; synthetic rows are nobody's, so this is an upper bound.
    mean_risk : expected_match_risk / n, from 0 to 1.
    highest_risk : the largest I_i.
    mean_risk_of_original : mean_risk if the original itself were released: what the synthesis has to be compared with.
    correct_attribution : mean over persons and copies of a/s, or of 0 where s = 0, from 0 to 1: how often a random match is
        right in every other column.
    unique_match_rate : share of the persons with s = 1, over all copies.
    true_match_rate : share of the persons with s = 1 and a = 1: one match, and all it says is true. From 0 to 1.
    false_match_rate : share of the unique matches that are false (a = 0); NaN when there is no unique match.
    replicated_uniques : share, among the persons that nobody else matches in the original, of those with s = 1; NaN when there
        is no such person.
    groups : the same for persons of low, medium and high risk (`risk_groups.risk_groups`).
    """

    public_because: str
    quasi_identifiers: tuple[str, ...]
    n_rows: int
    n_copies: int
    expected_match_risk: float
    mean_risk: float
    highest_risk: float
    mean_risk_of_original: float
    correct_attribution: float
    unique_match_rate: float
    true_match_rate: float
    false_match_rate: float
    replicated_uniques: float
    groups: tuple[GroupRisk, ...]

    def figures(self) -> dict[str, float]:
        """The summary figures by name, to compare candidates in a table."""
        return {
            "mean_risk": self.mean_risk,
            "mean_risk_of_original": self.mean_risk_of_original,
            "highest_risk": self.highest_risk,
            "correct_attribution": self.correct_attribution,
            "true_match_rate": self.true_match_rate,
            "false_match_rate": self.false_match_rate,
            "replicated_uniques": self.replicated_uniques,
            **{
                f"{group.name}_{name}": getattr(group, name)
                for group in self.groups
                for name in ("share", "mean_risk", "highest_risk", "correct_attribution")
            },
        }


def risk_report(
    public: PublicTable,
    copies: Sequence[Counts],
    *,
    quasi_identifiers: Sequence[str],
    within: Mapping[str, float] | None = None,
    least_others: int = LEAST_OTHERS,
) -> RiskReport:
    """All risk figures of M synthetic copies of a public table.

    Parameters
    ----------
    copies : M >= 1 synthetic tables over the bins of the public one.
    quasi_identifiers : columns that an intruder knows of every person.
    within : for some of them, how far the number of a matching bin may be from the person's, in the unit of the column;
        the others match on the same bin.
    least_others : others among whom a person is taken to be hidden, for the groups of risk.

    Raises
    ------
    TypeError : when a table is not public counts.
    ValueError : for copies over other bins, unknown columns, or a range on a column without numbers.

    Notes
    -----
    The source gives I_i for partially synthetic data, whose rows still belong to persons. True and false match rates are
    those of Reiter and Mitra, with the rows' identity, which fully synthetic rows do not have, replaced by agreement in
    all columns; where every column is a quasi-identifier each unique match is therefore true. A true match may also be what
    a good model says about anyone alike: no figure here is a guarantee, differential privacy is.

    Source
    ------
    Jiang (2025), Short Course on Data Privacy, the two slides from "Let t_i represents the vector of the
    quasi-identifiers" on (the text has no page numbers); Reiter and Mitra, J. Privacy and Confidentiality 1 (2009),
    for the rates; Nowok, Raab, Dibben (2016), synthpop, for the replicated uniques.

    Privacy
    -------
    None: the figures are exact functions of the original. That is why it must be a `PublicTable`.
    """
    public.check_copies(copies)
    look_up = LookUp.of(public, quasi_identifiers, within or {})
    persons, n = public.counts.counts, public.n
    at_home = look_up.matching(public.counts)
    matching = np.array([look_up.matching(copy) for copy in copies])
    agreeing = np.array([look_up.agreeing(copy) for copy in copies])
    risks = _inverse(matching).mean(axis=0)
    correct = (agreeing * _inverse(matching)).mean(axis=0)
    unique = (matching == 1).sum(axis=0) / len(copies)
    true = ((matching == 1) & (agreeing == 1)).sum(axis=0) / len(copies)
    unique_matches, alone = float(persons @ unique), persons[at_home == 1]
    return RiskReport(
        public_because=public.public_because,
        quasi_identifiers=tuple(quasi_identifiers),
        n_rows=n,
        n_copies=len(copies),
        expected_match_risk=float(persons @ risks),
        mean_risk=float(persons @ risks) / n,
        highest_risk=float(risks.max()),
        mean_risk_of_original=float(persons @ _inverse(at_home)) / n,
        correct_attribution=float(persons @ correct) / n,
        unique_match_rate=unique_matches / n,
        true_match_rate=float(persons @ true) / n,
        false_match_rate=float(persons @ (unique - true)) / unique_matches if unique_matches else math.nan,
        replicated_uniques=float(alone @ unique[at_home == 1]) / float(alone.sum()) if len(alone) else math.nan,
        groups=group_risks(risk_groups(public, quasi_identifiers, within, least_others), persons, risks, correct),
    )


def _inverse(matches: np.ndarray) -> np.ndarray:
    """1 / s, and 0 without a match."""
    return np.where(matches > 0, 1 / np.maximum(matches, 1), 0.0)
