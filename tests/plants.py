"""Write docs/appendix/plants.md: which planted mistake is found in which kind, and by which command.

python -m tests.plants
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from _pytest.outcomes import OutcomeException

from synthrelease.criteria import CRITERIA
from synthrelease.generators import GENERATORS
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.studio.audit.worlds import SWEEPS
from tests import test_contracts
from tests.conftest import ROOT
from tests.generators import test_noise_of_every_family as of_families
from tests.helpers.plants import SLIPS, about_numbers, is_found, is_found_by_its_command, smallest

PAGE = ROOT / "docs" / "appendix" / "plants.md"
HEAD = """# Planted mistakes

An author of a criterion or a generator can make a mistake, for example, state a sensitivity that is too small.
This page shows which mistakes the checks find.

`make plants` makes each mistake in every criterion and generator on purpose, runs the checks, and writes this page.
The code is in `tests/helpers/plants.py` and `tests/generators/test_noise_of_every_family.py`.
`make criterion NAME=` and `make generator NAME=` make the same mistakes in one criterion or generator.
Each cell shows two results: before 2026-11-28, and now.
Before 2026-11-28, `make criterion` tried only small tables whose numbers begin at 0.
For generators, there were only the tests of their contract.
"""
CRITERIA_TEXT = """
## Criteria

`make plants` makes each mistake both in the class and in the audit's second formula.
`make criterion NAME=` enumerates all pairs of small tables that differ in one record.
Numbers in these tables begin at 0, or at other values.
"Range for magnitude" uses the range of the numbers instead of their largest absolute value.
"Add for replace" halves the sensitivity.
"-" means that the sensitivity does not depend on the numbers, so this mistake is impossible.
`tests/criteria/test_sensitivity.py` adds a criterion whose sensitivity is 31 times too small (not found before, found now).
"""
GENERATORS_TEXT = """
## Generators

With the first three mistakes, the fit gets half of the noise, ten times the epsilon, or the whole budget for each answer.
With the fourth mistake, the fit reads the data twice for one charge.
`make generator NAME=` fits the generator to two tables that differ in one record, with the same noise.
Then the command compares the privacy loss of the answers with the charge.
"?" means that the mistake was not tried, because the library was not installed or the tests take minutes.
"""

BY_HAND = "\n## Four additions"
"""Begins what stands at the end of the page and is written by hand."""


OF_TWO = ("faithfulness", "regression_one_step", "regression_prediction")
"""Kinds whose tables of three records were left to the audit."""


def of_criteria() -> Iterator[list[str]]:
    """Yield a row for each kind whose figure gets noise: before and after, for each slip."""
    for kind in SWEEPS:
        row = [f"`{kind}`"]
        for slip in SLIPS:
            if slip == "range for magnitude" and not about_numbers(kind):
                row.append("-")
                continue
            before = is_found(slip, [smallest(kind)], most=2 if kind in OF_TWO else 3)
            row.append(_words(before, is_found_by_its_command(slip, kind)))
        yield row


def _words(before: bool | None, after: bool) -> str:
    first = "?" if before is None else "found" if before else "not found"
    return f"{first}, {'found' if after else '**not found**'}"


def _contract_fails(family: str, laplace: float, gaussian: float) -> bool | None:
    """Whether the contract of a family shows that its noise is smaller than asked for."""
    if family in of_families.TAKES_LONG:
        return None
    right = {name: getattr(SystemEntropy, name) for name in ("add_laplace", "add_gaussian")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            SystemEntropy, "add_laplace", lambda self, values, scale: right["add_laplace"](self, values, scale * laplace)
        )
        patch.setattr(
            SystemEntropy, "add_gaussian", lambda self, values, scale: right["add_gaussian"](self, values, scale * gaussian)
        )
        try:
            for number in range(len(of_families.made(family))):
                test_contracts.fitted_once.cache_clear()
                test_contracts.test_a_generator_charges_what_it_was_given_and_spends_it_once(family, number, "1.5")
                test_contracts.test_a_fit_that_was_not_planned_raises_before_reading(family, number)
                test_contracts.test_sampling_is_free_and_gives_exactly_the_rows_asked_for_inside_the_layout(family, number)
                test_contracts.test_two_fits_of_the_same_table_differ(family, number)
        except (AssertionError, OutcomeException):
            return True
        finally:
            test_contracts.fitted_once.cache_clear()
    return False


def of_generators() -> Iterator[list[str]]:
    """Yield a row for each family: before and after, for each slip."""
    for family in GENERATORS:
        tests = (
            (of_families.test_half_the_noise_is_noticed, 0.5, 0.5),
            (of_families.test_ten_times_the_epsilon_is_noticed, 0.1, 0.1),
            (of_families.test_a_budget_that_is_not_shared_is_noticed, 0.5, 0.5**0.5),
        )
        row = [f"`{family}`"]
        for test, laplace, gaussian in tests:
            try:
                test(family)
                after = True
            except AssertionError:
                after = False
            except OutcomeException:  # skipped
                row.append("?")
                continue
            row.append(_words(_contract_fails(family, laplace, gaussian), after))
        yield [*row, _second_look(family)]


def _second_look(family: str) -> str:
    """The meter has refused a second look since version 1.0.0."""
    try:
        of_families.test_a_second_look_is_another_charge(family)
    except OutcomeException:  # nothing was raised
        return _words(False, False)
    return _words(True, True)


def table(names: Sequence[str], rows: Iterator[list[str]]) -> str:
    """Return a table in Markdown; each cell says before, after."""
    lines = [["kind", *names], ["---"] * (len(names) + 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def page() -> str:
    """Return the page."""
    slips = ("half the noise", "ten times the epsilon", "an unshared budget", "a budget used twice")
    assert set(SWEEPS) <= set(CRITERIA)
    return f"{HEAD}{CRITERIA_TEXT}\n{table(list(SLIPS), of_criteria())}{GENERATORS_TEXT}\n{table(slips, of_generators())}"


if __name__ == "__main__":
    by_hand = PAGE.read_text(encoding="utf-8").partition(BY_HAND)[2]
    PAGE.write_text(page() + BY_HAND + by_hand, encoding="utf-8", newline="\n")
