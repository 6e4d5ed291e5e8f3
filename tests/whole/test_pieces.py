"""A release from two pieces of a file that is a sample: what is refused, spent, said of it, and checked again."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from synthrelease.answers.bounds import bound
from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.write import write_bundle
from synthrelease.cli.terminal import print_plan
from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import Door
from synthrelease.errors import BudgetError, InputError, SpecError
from synthrelease.privacy.charges import mechanism
from synthrelease.published.base import Files
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.table import read_csv
from synthrelease.published.verify.charges import charges
from synthrelease.published.verify.options import KnownFiles, options
from synthrelease.releasing.attempt import PrivatePieces, divided
from synthrelease.releasing.dry_run import dry_run
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.advice import one_round, shares_luck
from synthrelease.studio.rehearsal.attempts import Trials, run_attempts
from tests.helpers.small import World
from tests.helpers.tiny import write_config, write_data

SELECTION = "[selection]\nstop_probability = 0.001\n"
PARTITION = "[partition]\nfit = 0.6\nscore = 0.4\n"
CHANGES = {SELECTION: SELECTION + PARTITION}


def spec_of(folder: Path, more: str = PARTITION, **changes: str) -> ReleaseSpec:
    return load_spec(write_config(folder, {SELECTION: SELECTION + more} | changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle; beside it which rows were read by what."""
    where = tmp_path_factory.mktemp("pieces")
    spec, data, seen = load_spec(write_config(where, CHANGES)), write_data(where), list[tuple[str, Counts]]()
    spend = Door.spend

    def watched(self: Door, charge: Any, use: Callable[[Counts], Any]) -> Any:
        def looked(counts: Counts) -> Any:
            seen.append((charge.name, counts))
            return use(counts)

        return spend(self, charge, looked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Door, "spend", watched)
        while (made := release(spec, data)) is None:  # the stop coin ends one in a thousand
            seen.clear()
    write_bundle(made, where / "out")
    read = {name: counts for name, counts in seen if name != "number of rows"}
    (where / "seen.json").write_text(json.dumps({name: counts.total for name, counts in read.items()}))
    together = read["generation"] + read["criterion: marginals"]
    (where / "together.json").write_text(json.dumps(together.dense().tolist()))
    return where


@pytest.fixture(scope="module")
def document(folder: Path) -> ReleaseDocument:
    return read_strictly((folder / "out" / "release.json").read_bytes())


def test_the_generator_and_the_criteria_read_different_rows(folder: Path) -> None:
    assert json.loads((folder / "seen.json").read_text()) == {"generation": 240, "criterion: marginals": 160}
    together = json.loads((folder / "together.json").read_text())
    assert together == [60, 60, 60, 40, 60, 60, 60, 0]  # pairs of years by face: each row of the file in one piece


def test_a_bundle_says_it_and_verify_agrees(folder: Path, document: ReleaseDocument) -> None:
    assert verify_bundle(folder / "out").passed
    part = document.partition
    assert part is not None
    assert (part.rows, part.fit_rows, part.score_rows, document.n_rows) == (400, 240, 160, 160)
    assert document.format == 1
    page = (folder / "out" / "README.md").read_text(encoding="utf-8")
    assert "fitted to 240 rows, and the criteria compare the table with the other 160" in page
    assert "3.1 percentage points" in page  # sqrt(1/4/160 * 240/399)
    assert "The release used 400 of the rows that follow the rules" in page
    assert part.sampling_error() == pytest.approx((0.25 / 160 * 240 / 399) ** 0.5)


def test_the_tree_is_the_largest_of_two_releases(document: ReleaseDocument) -> None:
    pieces = document.charges.charge().parts[-1]
    assert [leaf.name for leaf in pieces.leaves()] == ["generation", "criterion: marginals"]
    assert pieces.epsilon == max(part.epsilon for part in pieces.parts) == document.charges.charge().epsilon


def test_no_bound_for_all_rows_follows(folder: Path) -> None:
    with pytest.raises(InputError, match="a random piece of the rows"):
        bound(folder / "out", "face == 'head'")


def problems_of(folder: Path, document: ReleaseDocument) -> list[str]:
    """What the verification of the charges and that of the option find."""
    files = Files({path.name: path.read_bytes() for path in (folder / "out").iterdir()})
    table = read_csv(files[document.csv], document.shape)
    known = KnownFiles(files=files, table=table, rules=Plausibility(layout=table.counts.layout, masks=()))
    return [problem for check in (charges(document), *options(document, known)) for problem in check.problems]


def rule_of_the_sum(tables: dict[str, Any]) -> None:
    """Two pieces that are charged as such, in a document that describes none."""
    del tables["partition"]


def other_sizes(tables: dict[str, Any]) -> None:
    tables["partition"]["fit_rows"] += 1


def other_share(tables: dict[str, Any]) -> None:
    tables["partition"]["fit_exact"] = "1/2"


def in_the_cheaper_part(tables: dict[str, Any]) -> None:
    fit, score = tables["charges"]["parts"][-1]["parts"]
    leaves = [part["parts"][0]["parts"][0]["parts"] for part in (fit, score)]
    leaves[0][0]["name"], leaves[1][0]["name"] = leaves[1][0]["name"], leaves[0][0]["name"]


def half_of_the_largest(tables: dict[str, Any]) -> None:
    for node in (tables["charges"], tables["charges"]["parts"][-1], tables["guarantee"]):
        node["epsilon"], node["epsilon_exact"] = 1, "1"


@pytest.mark.parametrize(
    ("forge", "found"),
    [
        (rule_of_the_sum, "release.json has no pieces"),
        (other_sizes, "the pieces must have"),
        (other_share, "the pieces must have"),
        (in_the_cheaper_part, "in the part of the piece 'score'. It must be in the part of the piece 'fit'"),
        (half_of_the_largest, "its parts give"),
    ],
)
def test_forged_pieces_are_found(
    forge: Callable[[dict[str, Any]], None], found: str, folder: Path, document: ReleaseDocument
) -> None:
    assert not problems_of(folder, document)
    tables = json.loads(document.dumped())
    forge(tables)
    forged = ReleaseDocument.model_validate_json(json.dumps(tables))
    problems = problems_of(folder, forged)
    assert any(found in problem for problem in problems), problems


def test_a_plan_and_a_release_say_what_is_divided(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both print this before anything is spent."""
    print_plan(spec_of(folder))
    assert "fitted to 60% of the rows. The criteria use the other 40%" in " ".join(capsys.readouterr().out.split())


# --- What does not go together

UNEVEN = "[partition]\nfit = 0.99\nscore = 0.01\n"
MEASURED = "publish_measurements = true\n"
MARGINALS = {
    'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': 'family = "marginals"\ntables = "face:year"'
}
SHARED = 'measurements = "shared"\npublish_measurements = true\n'
ANSWERED = {"threshold = 0.9\nepsilon = 0.5": 'threshold = 0.9\nanswered_by = "measurements"'}
REFUSED = {
    "answers of measurements": (
        'measurements = "shared"\n' + MEASURED + PARTITION,
        MARGINALS | ANSWERED,
        "with [partition] measurements and criterion values describe different pieces of the rows",
    ),
    "shares that do not add up": (PARTITION.replace("0.4", "0.3"), {}, "must add up to 1"),
    "published measurements": (MEASURED + PARTITION, MARGINALS, "describe different pieces"),
    "intended queries": (PARTITION + '[[intended_queries]]\nquery = "year < 5"\n', {}, "no bound for all rows"),
    "rows that are too few": (
        PARTITION.replace("0.6", "0.99").replace("0.4", "0.01"),
        {"rows = 400": "rows = 100"},
        "The number of rows that the criteria use, of 100 in all, is 1. It must be at least 2",
    ),
    "one row": (PARTITION, {"rows = 400": "rows = 1"}, "divides the rows, so there must be at least 2, not 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together_is_refused(case: str, tmp_path: Path) -> None:
    more, changes, found = REFUSED[case]
    with pytest.raises(SpecError) as caught:
        spec_of(tmp_path, more, **changes)
    assert found in str(caught.value)


# --- Meters, dry runs, rehearsals -------------------------------------------------------------------------------------------


def test_each_piece_pays_its_own_charges_alone(tmp_path: Path) -> None:
    spec, world = spec_of(tmp_path), World({"a": 1})
    generation, other = spec.plan.per_round
    pieces = divided(world.private((0, 0, 1, 1, 1), ()), spec.options.partition, spec.plan.once)
    assert isinstance(pieces, PrivatePieces)
    planned = pieces.with_plan(spec.plan.per_round)
    for piece, charge in ((planned.fit, other), (planned.score, generation), (planned.fit, mechanism("x", Fraction(1), ""))):
        with pytest.raises(BudgetError):
            piece.spend(charge, lambda counts: counts)
    read = [planned.fit.spend(generation, lambda counts: counts), planned.score.spend(other, lambda counts: counts)]
    assert [counts.total for counts in read] == [3, 2]
    whole = world.private((0, 1), ())
    assert divided(whole, None, ()) is whole


def test_a_round_in_pieces_costs_what_its_dearer_piece_costs(tmp_path: Path) -> None:
    whole, halves = spec_of(tmp_path, "", **{"generation = 10": "generation = 1"}), "generation = 1"
    cheap = spec_of(tmp_path, PARTITION, **{"generation = 10": halves})
    assert cheap.plan.total.epsilon <= Fraction("1.998")
    assert (one_round(whole, Fraction(1)), one_round(cheap, Fraction(1))) == (Fraction(3, 2), 1)
    assert one_round(cheap, Fraction(1, 4)) == Fraction(1, 2)  # the criteria are dearer
    assert shares_luck(cheap) > shares_luck(whole)


def test_a_dry_run_and_a_rehearsal_divide_public_rows(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    dry_run(spec, {})
    world = spec.space[0].transformation.schema.layout
    public = World.__new__(World)  # only its way of making a private table is needed
    public.layout = world
    rows = public.counts([code for code in range(8) for _ in range(45)])
    trials = Trials(spec=spec, counts=rows, seed=1)
    found = [run_attempts(trials, [(0, number)], spec.budget.generation)[0] for number in (0, 1, 0)]
    assert found[0].figures == found[2].figures != found[1].figures
    assert all(result.sensitivities[0] == pytest.approx(1 / 144) for result in found)  # the scored piece of 360
    assert rows.total == 360
