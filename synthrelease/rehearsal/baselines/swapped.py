"""Swapping as a method to compare with: which columns, among whom, and what its report says beside the guarantee."""

from __future__ import annotations

from synthrelease.data.counts import Counts
from synthrelease.errors import listing
from synthrelease.rehearsal.baselines.base import Baseline, ComparedFile, DoesNotFit, MadeTables
from synthrelease.rehearsal.baselines.swap_budget import CLOSEST, best_rate, least_epsilon, rates_for
from synthrelease.rehearsal.baselines.swap_report import SwapReport
from synthrelease.rehearsal.baselines.swapping import PermutationSwapping

LOOSE = 0.5
"""Cramer's V of a swap variable and a key that is chosen here, at most: values that follow from the key would stay."""


class Swapping(Baseline):
    """Values of some columns exchanged between records that agree on others."""

    sentence = "exchange values between records that agree on a key"

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        if len(file.names) < 2:
            raise DoesNotFit("swapping needs two columns or more")
        variables, key = self._columns(file)
        method = PermutationSwapping(key=key, variables=variables, rate=file.swap_rate)
        nominal, pairwise = method.nominal_epsilon(file.table), method.pairwise_epsilon(file.table)
        copies = [method.swap(file.table, file.generator(0, number)) for number in range(file.copies)]
        return [
            MadeTables(
                name=f"swapping at {float(file.swap_rate):.3g}",
                guarantee=(
                    f"nominal: epsilon {nominal:.2f} for each record that differs, {pairwise:.2f} between the closest tables"
                ),
                epsilon=pairwise,
                copies=copies,
                notes=self._notes(file, method, copies[0]),
            )
        ]

    def _columns(self, file: ComparedFile) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Swap variables and key: as asked for, else an identifying column, and the strongest that does not give it away."""
        sizes, names = file.table.layout.sizes, file.names
        variables = tuple(map(names.index, file.swap))
        if not variables:
            ranked = sorted(file.known, key=lambda c: (file.numbers(c) is not None, -sizes[c], c))
            variables = (next((c for c in ranked if file.swap_key is None or names[c] not in file.swap_key), ranked[0]),)
        if file.swap_key is not None:
            return variables, tuple(map(names.index, file.swap_key))
        free = [c for c in range(len(sizes)) if c not in variables and 1 < sizes[c] <= 20]
        return variables, file.by_strength(variables[0], [c for c in free if file.strength(variables[0], c) <= LOOSE])[:1]

    def _notes(self, file: ComparedFile, method: PermutationSwapping, swapped: Counts) -> tuple[str, ...]:
        report = SwapReport.of(file.table, swapped, method)
        told = listing([file.names[c] for c in method.variables])
        within = (
            f"among records with the same {listing([file.names[c] for c in method.key])}" if method.key else "among all records"
        )
        least = CLOSEST * least_epsilon(report.largest_stratum)
        if file.epsilon < least:
            rates = f"no rate has the release's epsilon: the least is {least:.2f}, at {best_rate(report.largest_stratum):.4%}"
        else:
            low, high = rates_for(file.epsilon / CLOSEST, report.largest_stratum)
            rates = f"the release's epsilon is that of the rates {low:.4%} and {high:.4%}"
        stratum = f"largest stratum {report.largest_stratum:,}, itself published"
        return (f"values of {told} are swapped {within}", *report.lines()[1:], stratum, rates)
