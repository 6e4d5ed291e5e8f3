"""An earlier release as public table: its rows on the bins of this one, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from synthrelease.errors import InputError, SpecError
from synthrelease.publish import check_released
from synthrelease.published.folder import load
from synthrelease.releasing.attempt import read_priors
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec, read_specification
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.tiny import MEASURED, write_config, write_data, write_measured_release

pytestmark = pytest.mark.slow

(PLAIN, GENERATOR), (SELECTION, SHARED) = MEASURED.items()
NAMED = {
    PLAIN: f'{GENERATOR}\nprior = {{ release = "earlier" }}',
    SELECTION: '[series]\nname = "Coins"\nearlier = ["earlier/release.json"]\n\n' + SHARED,
}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an earlier release of the coins, of pairs of years."""
    folder = tmp_path_factory.mktemp("released")
    write_measured_release(folder, folder / "earlier")
    return folder


def spec_of(work: Path, changes: dict[str, str] | None = None) -> ReleaseSpec:
    return load_spec(write_config(work, {**NAMED, **(changes or {})}))


def rows_of(spec: ReleaseSpec) -> dict[tuple[str, str], int]:
    """How often each released row would occur in the public table, by its labels."""
    (transformation,) = spec.space.transformations
    (prior,) = read_priors(spec).values()
    merged = prior.merge(transformation.layout, transformation.maps)
    labels = [binning.labels for binning in transformation.binnings]
    cells = zip(*(column.tolist() for column in merged.bins), merged.counts.tolist(), strict=True)
    return {(labels[0][face], labels[1][year]): count for face, year, count in cells}


def released(work: Path) -> dict[tuple[str, str], int]:
    found = load(work / "earlier").table().value_counts()
    return {(str(face), str(year)): int(count) for (face, year), count in found.items() if count}


def test_the_released_rows_are_the_public_table(work: Path) -> None:
    assert rows_of(spec_of(work)) == released(work)


def test_bins_are_compared_by_what_they_hold_and_may_be_coarser_now(work: Path) -> None:
    coarser = {'"1-2", "3-4", "5-6", "7-8"': '"1-4", "5-8"'}
    expected: dict[tuple[str, str], int] = {}
    for (face, years), count in released(work).items():
        key = (face, "1-4" if years in ("1-2", "3-4") else "5-8")
        expected[key] = expected.get(key, 0) + count
    assert rows_of(spec_of(work, coarser)) == expected


@pytest.mark.parametrize("bins", ['"1", "2-8"', '"1-3", "4-8"', '"1..8"'])
def test_bins_that_cut_those_of_the_earlier_release_are_refused(work: Path, bins: str) -> None:
    with pytest.raises(InputError, match="of year is not inside one bin of the new release"):
        read_priors(spec_of(work, {'"1-2", "3-4", "5-6", "7-8"': bins}))


def test_a_column_or_category_that_there_was_not_is_refused(work: Path) -> None:
    more = {"[columns.year]": '[columns.mint]\nkind = "category"\ncategories = ["A", "B"]\n\n[columns.year]'}
    with pytest.raises(InputError, match="this prior lacks 'mint'"):
        read_priors(spec_of(work, more))
    renamed = {'categories = ["head", "tail"]': 'categories = ["head", "number"]', "face == 'tail'": "face == 'number'"}
    with pytest.raises(InputError, match="the bin 'tail' of face is not inside one bin of the new release"):
        read_priors(spec_of(work, renamed))


def test_a_release_that_is_not_of_this_series_is_refused(work: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\[series\] earlier must name this prior"):
        read_priors(spec_of(work, {'earlier = ["earlier/release.json"]\n': ""}))
    with pytest.raises(SpecError, match="The prior must be the folder of a release"):
        spec_of(work, {'release = "earlier"': 'release = "nowhere"'})


def test_other_neighbours_are_refused(work: Path) -> None:
    for table, named in (("[unit]\nrecords_per_person = 3", "records of a person"), ('[unit]\nname = "toss"', "record")):
        with pytest.raises(InputError, match=f"{named} is .* in this prior, .* Both must be the same"):
            read_priors(spec_of(work, {"[budget]": f"{table}\n\n[budget]"}))


def test_a_forgery_is_refused(work: Path, tmp_path: Path) -> None:
    """Rows that are not those of release.json when they are read; and all that `verify` finds, before anything is spent."""
    check_released(work / "earlier")
    folder = tmp_path / "forged"
    shutil.copytree(work, folder)
    spec, table = spec_of(folder), folder / "earlier" / "data.csv"
    lines = table.read_text().splitlines()
    lines[1] = "tail,1-2" if lines[1] != "tail,1-2" else "head,1-2"
    table.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="the files of this prior do not agree with its release.json"):
        read_priors(spec)
    with pytest.raises(InputError, match="this prior does not pass `synthrelease verify`"):
        check_released(folder / "earlier")
    shutil.copytree(work / "earlier", folder / "earlier", dirs_exist_ok=True)
    document = json.loads((folder / "earlier" / "release.json").read_bytes())
    document["description"] = "Another"
    (folder / "earlier" / "release.json").write_text(json.dumps(document, indent=2) + "\n")
    with pytest.raises(InputError, match="the files of this prior do not agree"):
        read_priors(spec)


def test_a_release_that_starts_from_another_names_it_by_its_content(work: Path) -> None:
    """The published specification plans again without the folder, and costs the same."""
    spec = spec_of(work)
    found = release(spec, write_data(work))
    assert found is not None
    again = read_specification(spec.text)
    assert again.plan.total == spec.plan.total
    assert again.digest == spec.digest
    prior = spec.described(spec.space[0])["generator"]["prior"]
    assert prior == {"release": f"sha256:{next(iter(spec.priors.values())).digest}"}
    assert not np.array_equal(read_priors(spec)["release:earlier"].counts, [])
