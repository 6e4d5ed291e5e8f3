"""Sensitivities that `verify` computes again from release.json and the released table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from synthrelease.bundle.document import interval_part, release_document
from synthrelease.bundle.limits import public_facts, with_file_ends
from synthrelease.bundle.verify_figures import figures
from synthrelease.criteria import explain
from synthrelease.privacy.grids import laplace_sd, noise_grid
from synthrelease.published.charges import CriterionPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.alone import rebuild
from synthrelease.published.verify.checks import Check
from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from tests.helpers.cards import rich_release, write_rich_config
from tests.helpers.facts import facts_of
from tests.helpers.tiny import write_data

ONE_STEP = {
    'kind = "regression_coefficients"\n': 'kind = "regression_one_step"\nrange = [1, 8]\nfit_epsilon = 1\n',
    "threshold = 5\nepsilon = 3": "threshold = 500\nepsilon = 3",
}


@cache
def one_step_release() -> Release:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = release(load_spec(write_rich_config(folder, ONE_STEP)), write_data(folder))
    if found is None:
        raise RuntimeError("no round was accepted")
    return found


def made(found: Release) -> tuple[ReleaseDocument, ReleasedTable]:
    return release_document(found, {}), ReleasedTable.of(found.candidate)


def checked(document: ReleaseDocument, table: ReleasedTable) -> Check:
    return figures(document, table, rebuild(document).raw)


def with_sensitivity(document: ReleaseDocument, name: str, factor: float) -> ReleaseDocument:
    """A forgery: another sensitivity, and noise, a figure and an interval that follow from it."""
    changed: list[CriterionPart] = []
    for part in document.criteria:
        if part.name == name and part.sensitivity is not None:
            sensitivity = float(part.sensitivity) * factor
            step, steps = noise_grid(sensitivity)
            update = {
                "sensitivity": sensitivity,
                "noise_sd": step * laplace_sd(Fraction(steps) / Fraction(part.epsilon_exact)),
                "value": round(float(part.value) / step) * step,
            }
            part = part.model_copy(update=update)
            part = part.model_copy(update={"interval": interval_part(part, document.n_rows)})
        changed.append(part)
    return document.model_copy(update={"criteria": changed})


@pytest.mark.slow
@pytest.mark.parametrize("make", [rich_release, one_step_release], ids=["coefficients", "one step"])
@pytest.mark.parametrize("factor", [0.5, 1.001])
def test_another_sensitivity_is_found_for_every_figure_with_noise(make: Callable[[], Release], factor: float) -> None:
    """Noise, figure, interval and limit for the file follow from it: nothing else gives it away."""
    document, table = made(make())
    assert checked(document, table).problems == ()
    noisy = [part.name for part in document.criteria if part.sensitivity is not None]
    assert len(noisy) >= 6
    for name in noisy:
        forged = with_file_ends(with_sensitivity(document, name, factor), table.counts)
        (problem,) = checked(forged, table).problems
        assert problem.startswith(f"criterion {name!r}: the sensitivity is")


def test_facts_of_a_candidate_and_of_its_release_json_are_the_same() -> None:
    for found in (rich_release(), one_step_release()):
        document, table = made(found)
        direct = facts_of(found.candidate, found.spec.setting)
        read = public_facts(document, table.counts, rebuild(document).raw)
        assert (direct.n, direct.columns, dict(direct.criteria)) == (read.n, read.columns, dict(read.criteria))
        for criterion in direct.criteria.values():
            assert explain(criterion).public_sensitivity(direct) == explain(criterion).public_sensitivity(read)
            assert explain(criterion).sentence(direct) == explain(criterion).sentence(read)
            assert explain(criterion).figure_unit(direct) == explain(criterion).figure_unit(read)


def one_step_by_hand(document: ReleaseDocument, table: ReleasedTable, forbidden: Callable[[float, float], bool]) -> float:
    """2 max |x y'| / n with x the standardised face and y' the residual of the year, over all own values; one feature."""
    numbers = [[float(one.number or 0) for one in column.bins] for column in document.columns]
    rows = [(numbers[0][face], numbers[1][year]) for face, year in table.counts.expand()]
    n, mean = len(rows), sum(x for x, _ in rows) / len(rows)
    variance = sum((x - mean) ** 2 for x, _ in rows) / n
    centre = sum(y for _, y in rows) / n
    slope = sum((x - mean) * (y - centre) for x, y in rows) / n / variance
    predicted = {x: min(max(centre + slope * (x - mean), 1.0), 8.0) for x in numbers[0]}
    shares = [
        abs((x - mean) / variance**0.5 * (y - predicted[x])) for x in numbers[0] for y in range(1, 9) if not forbidden(x, y)
    ]
    return 2 * max(shares) / n


@pytest.mark.parametrize("ruled", [True, False])
def test_the_sensitivity_of_one_step_is_the_largest_share_of_a_record_that_the_raw_rules_allow(ruled: bool) -> None:
    document, table = made(one_step_release())
    part = next(part for part in document.criteria if part.name == "slope")
    if not ruled:
        document = document.model_copy(update={"rules": []})
    criterion = part.criterion()
    assert criterion is not None
    found = explain(criterion).public_sensitivity(public_facts(document, table.counts, rebuild(document).raw))
    wanted = one_step_by_hand(document, table, lambda face, year: ruled and face == 1 and year > 6)
    assert found == pytest.approx(wanted, rel=1e-9)
    if ruled:
        assert found == pytest.approx(part.sensitivity, rel=1e-9)


def test_one_step_on_bins_that_were_not_released_is_not_computed_again() -> None:
    """Of the other bins release.json holds the name alone: no sensitivity, and a stated reason."""
    document, table = made(one_step_release())
    part = next(part for part in document.criteria if part.name == "slope")
    other = part.model_copy(update={"parameters": {**part.parameters, "representation": {"face": "categories", "year": "all"}}})
    criterion = other.criterion()
    assert criterion is not None
    assert explain(criterion).public_sensitivity(public_facts(document, table.counts, rebuild(document).raw)) is None
    assert explain(criterion).no_sensitivity
