"""Re-identification risk: what an intruder learns by looking known persons up in the synthetic rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.rehearsal.look_up import LookUp
from synthrelease.rehearsal.public_table import PublicTable
from synthrelease.rehearsal.risk_groups import LEAST_OTHERS, GroupRisk, group_risks, risk_groups


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
