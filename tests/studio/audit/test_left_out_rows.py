"""Files with rows left out, by enumeration: a slice of what `synthrelease audit` enumerates, and faults that it must find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from itertools import combinations, combinations_with_replacement
from math import comb

import numpy as np
import pytest

from synthrelease.criteria import base_mechanism as asking
from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import FillerRows
from synthrelease.enclave import door as private_module
from synthrelease.enclave import resizing
from synthrelease.enclave.door import PrivateRows
from synthrelease.privacy import noise as randomness
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.studio.audit import enumeration as number_sensitivity
from synthrelease.studio.audit import tiny as left_out_rows
from synthrelease.studio.audit.enumeration import MOST_RECORDS, enumerate_numbers, enumerate_sweep, sweeps
from synthrelease.studio.audit.tiny import World, coupling, file_pairs, marginal, program_law, public_sequence, resized_pairs
from tests.enclave.test_resizing import coupled

pytestmark = pytest.mark.slow

HIGHS = (("a", 1), ("b", 1))
SWEEPS = {sweep.name: sweep for sweep in sweeps()}


def contradictions(n_file: int = 4) -> int:
    """Pairs of files, over four cells, whose tables do not follow the theorem."""
    resized_pairs.cache_clear()
    try:
        return sum(resized_pairs(HIGHS, size, n_file).contradictions for size in range(1, n_file + 1))
    finally:
        resized_pairs.cache_clear()


def triples_of_files(cells: int, n_file: int) -> int:
    """Neighbours share N - 1 rows, in a cell or left out, and differ in the last; times every synthetic table of m rows."""
    files = comb(n_file - 1 + cells, cells) * comb(cells + 1, 2)
    all_kept = comb(n_file - 1 + cells - 1, cells - 1) * comb(cells, 2)
    tables = [comb(m + cells - 1, cells - 1) for m in range(1, n_file + 1)]
    return files * sum(tables) - all_kept * tables[-1]


def test_the_tables_of_neighbouring_files_follow_the_theorem() -> None:
    assert contradictions() == 0


def test_every_pair_of_neighbouring_files_is_there_once() -> None:
    """Against comparing all files of three rows over three cells and "left out" (3) with each other."""
    found = [frozenset((pair.kept(0), pair.kept(1))) for pair in file_pairs(3, 3)]
    files = list(combinations_with_replacement(range(4), 3))
    beside = [(a, b) for a, b in combinations(files, 2) if (Counter(a) - Counter(b)).total() == 1]
    kept = {frozenset(tuple(row for row in file if row < 3) for file in pair) for pair in beside}
    assert len(found) == len(set(found)) == len(beside)
    assert set(found) == kept


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_coupling_has_the_laws_of_the_program_and_another_theorem_says_that_there_is_one(size: int) -> None:
    """Against Strassen's condition over all sets of tables (enclave/test_resizing.py), for all pairs of files of three rows."""
    world = World(dict(HIGHS))
    layout = world.layout
    law_of = cache(partial(program_law, world, size=size, n_file=3))
    for pair in file_pairs(layout.n_cells, 3):
        together = coupling(pair, size, public_sequence(layout, 3))
        laws = [law_of(pair.kept(side)) for side in (0, 1)]
        assert [marginal(together, side) for side in (0, 1)] == laws
        assert coupled(*laws)


def test_the_triples_of_files_are_counted_and_more_than_ten_million() -> None:
    found = enumerate_sweep(SWEEPS["absolute, 2 x 2, all tables"], 3)
    assert found.sound
    assert found.files == triples_of_files(4, 3)
    sizes = [int(np.prod([high + 1 for high in sweep.highs.values()])) for sweep in SWEEPS.values() if sweep.linked is None]
    assert sum(triples_of_files(cells, MOST_RECORDS) for cells in sizes) > 27_179_088 + 10**7


def test_a_change_that_is_too_large_counts_for_every_pair_of_files_that_leads_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    right = randomness.laplace_figure
    monkeypatch.setattr(
        asking, "laplace_figure", lambda value, *, sensitivity, **more: right(value, sensitivity=sensitivity / 2, **more)
    )
    sweep = SWEEPS["absolute, 2 x 2, all tables"]
    found = enumerate_sweep(sweep, 2)
    assert found.violations > found.triples
    assert found.violations <= found.triples + found.files


def resized_to_what_is_kept(rows: PrivateRows, size: int, filler: FillerRows) -> object:
    return rows.all_of_them()


def evenly_spaced(table: Counts, size: int, entropy: SystemEntropy) -> Counts:
    """A systematic sample: one row that comes or goes shifts all others."""
    places = np.arange(size) * table.total // size if size else np.zeros(0, int)
    return Counts(table.layout, np.repeat(table.codes, table.counts)[places])


def with_replacement(table: Counts, size: int, entropy: SystemEntropy) -> Counts:
    """A row that is drawn twice counts twice."""
    drawn = entropy.picks(np.array([table.total]))
    return Counts(table.layout, np.repeat(table.codes, table.counts)[np.repeat(drawn, size)])


def first_rows(table: Counts, size: int, entropy: SystemEntropy) -> Counts:
    """As private as a random subset (both have the first m - 1 of the other rows), but not the table that is described."""
    return Counts(table.layout, np.repeat(table.codes, table.counts)[:size])


def filler_by_number(self: FillerRows, size: int) -> Counts:
    """Public rows that depend on how many are missing."""
    return Counts(self.layout, np.full(size, size % self.layout.n_cells))


FAULTS: dict[str, tuple[object, str, Callable[..., object]]] = {
    "as many rows as are kept": (PrivateRows, "some_of_them", resized_to_what_is_kept),
    "evenly spaced rows": (private_module, "uniform_subset", evenly_spaced),
    "rows drawn with replacement": (private_module, "uniform_subset", with_replacement),
    "the first rows": (private_module, "uniform_subset", first_rows),
    "filler that depends on the number kept": (FillerRows, "first", filler_by_number),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_resizing_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, wrong = FAULTS[fault]
    monkeypatch.setattr(place, name, wrong)
    assert contradictions() > 0


@pytest.mark.parametrize(
    ("fault", "coupled_anyway"),
    [(evenly_spaced, False), (with_replacement, False), (first_rows, True)],
    ids=["evenly spaced", "with replacement", "first rows"],
)
def test_which_subsets_break_the_guarantee_and_which_only_the_description(
    fault: Callable[..., Counts], coupled_anyway: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows of a public order move by one row, like random ones: a fault of the description, none of privacy."""
    monkeypatch.setattr(private_module, "uniform_subset", fault)
    world = World(dict(HIGHS))
    laws = [cache(partial(program_law, world, size=size, n_file=4)) for size in (2, 3)]
    pairs = file_pairs(world.layout.n_cells, 4)
    found = [coupled(*(law_of(pair.kept(side)) for side in (0, 1))) for pair in pairs for law_of in laws]
    assert all(found) == coupled_anyway


def test_the_count_of_the_kept_rows_moves_by_one_and_is_noisy() -> None:
    found = enumerate_numbers(4)
    assert found.sound
    assert found.files == comb(3 + 6, 6) * comb(7, 2)


def test_a_published_number_of_kept_rows_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_sensitivity, "resize", lambda rows, rule, raw, planned: rows.all_of_them())
    assert enumerate_numbers(3).violations > 0


def test_noise_for_half_a_row_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    right = resizing.discrete_laplace
    monkeypatch.setattr(
        resizing, "discrete_laplace", lambda values, *, epsilon, **more: right(values, epsilon=2 * epsilon, **more)
    )
    assert enumerate_numbers(3).violations > 0


def test_the_draws_that_are_decided_are_all_there_are() -> None:
    ways = [tuple(left_out_rows.Decided(way).picks(np.array([4, 4]))) for way in range(12)]
    assert len(set(ways)) == 12
