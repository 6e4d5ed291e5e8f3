"""A release from a file that is a sample: what is said of a member of its population, refused, and checked again."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.verify_plan import option_problems
from synthrelease.bundle.write import write_bundle
from synthrelease.errors import InputError, SpecError
from synthrelease.privacy.plan import Loss, of_the_population
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.verify.options import of_population
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from synthrelease.spec.options import Options
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.tiny import write_config, write_data

SELECTION = "[selection]\nstop_probability = 0.001\n"
POPULATION = '[population]\nsize = 4010\nsample = "simple random, without replacement"\nsource = "Register, 2024"\n'


def spec_of(folder: Path, more: str, **changes: str) -> ReleaseSpec:
    return load_spec(write_config(folder, {SELECTION: SELECTION + more} | changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("sample")
    found = release(spec_of(where, POPULATION), write_data(where))
    assert found is not None
    return write_bundle(found, where / "out")


@pytest.fixture(scope="module")
def document(folder: Path) -> ReleaseDocument:
    return read_strictly((folder / "release.json").read_bytes())


def test_a_member_of_the_population_has_a_sentence_of_his_own(folder: Path, document: ReleaseDocument) -> None:
    part, guarantee = document.population, document.guarantee
    assert part is not None
    whole = Loss(Fraction(guarantee.epsilon_exact), Fraction(0))
    assert part.loss() == of_the_population(whole, 401, 4010)  # rows of the file, kept or not
    assert part.loss().epsilon < whole.epsilon == load_spec(folder.parent / "coins.toml").plan.total.epsilon
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "without replacement, of 401 of 4,010 records (Register, 2024)" in page
    assert of_population(part, document).problems == ()
    assert "population.sampled" in document.flavour.scope.private_file
    report = verify_bundle(folder)
    assert report.passed
    assert "the file has 401 of 4,010 records" in next(check.found for check in report.checks if check.name == "population")


@pytest.mark.parametrize(
    "update", [{"epsilon_exact": "1"}, {"size": 40100}, {"sampled": 400}, {"size": 400}, {"delta_exact": "1/1000000"}]
)
def test_a_forged_sentence_is_found(update: dict[str, Any], document: ReleaseDocument) -> None:
    part = document.population
    assert part is not None
    assert of_population(part.model_copy(update=update), document).problems


def test_another_population_than_that_of_the_specification_is_found(folder: Path, document: ReleaseDocument) -> None:
    """Whoever names a larger one, and computes what follows from it, is caught by the published specification."""
    spec = spec_of(folder.parent, POPULATION)
    assert list(option_problems(document, spec)) == []
    without = replace(spec, options=Options())
    assert list(option_problems(document, without)) == [
        "population: only one of the specification and release.json has this part"
    ]
    larger = spec_of(folder.parent, POPULATION.replace("4010", "40100"))
    assert "population.size: release.json has 4010, the specification gives 40100" in list(option_problems(document, larger))


REFUSED = {
    "a stratified sample": (
        POPULATION.replace("simple random, without replacement", "stratified"),
        {},
        "the guarantee is proved only for this design",
    ),
    "persons in several records": (POPULATION + "[unit]\nrecords_per_person = 2\n", {}, "a cluster"),
    "clusters": (POPULATION + '[design]\nclusters = "tract"\n', {}, "strata, clusters or weights"),
    "exact rows": (POPULATION, {"rows = 400": 'rows = "exact"'}, "does not cover whether a record passes the rules"),
    "a small population": (
        POPULATION.replace("4010", "399"),
        {},
        "The population (399) is smaller than the number of rows in [input] (400)",
    ),
    "a piece of a register": (
        POPULATION + '[split]\nby = "number"\npiece = 1\nof = 2\n',
        {},
        "[population] cannot be combined with [split], because the bound holds only for all releases of the same",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_says_that_it_is_no_simple_random_sample_is_refused(case: str, tmp_path: Path) -> None:
    more, changes, found = REFUSED[case]
    with pytest.raises(SpecError) as caught:
        spec_of(tmp_path, more, **changes)
    assert found in str(caught.value)


def test_a_file_of_more_rows_than_the_population_is_refused(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, POPULATION.replace("4010", "400"))
    with pytest.raises(InputError, match=r"The file has 401 rows, but \[population\] size is only 400\."):
        release(spec, write_data(tmp_path))
