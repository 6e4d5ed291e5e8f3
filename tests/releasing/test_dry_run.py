"""Attempts on made-up rows before anything is spent: what ends every round ends the run while it is free."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import synthrelease
from synthrelease.enclave.door import opaque
from synthrelease.errors import RejectedRound, ResourceError, SpecError
from synthrelease.generators import GENERATORS
from synthrelease.privacy.charges import RowsRule
from synthrelease.releasing import attempt_costs as memory
from synthrelease.releasing import dry_run as module
from synthrelease.releasing.attempt import read_priors
from synthrelease.releasing.dry_run import ROWS, dry_run, extremes, made_up
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.conftest import ROOT
from tests.helpers.tiny import ACCEPTANCE, CONFIG, write_config, write_data

pytestmark = pytest.mark.slow

PRIVBAYES = 'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5'
JOINT = {
    'kind = "absolute_marginal_error"\nthreshold = 0.9\nepsilon = 0.5': 'kind = "absolute_marginal_error"\nthreshold = 0.9\n'
    "epsilon = 0.5\n",
    "stop_probability = 0.001": 'stop_probability = 0.001\ntest = "joint"\ntest_epsilon = 0.5\nfalse_acceptance = 0.01',
}


def write_wide(folder: Path, n_columns: int) -> Path:
    """The tiny release with so many columns of two categories, and a private file for it."""
    columns = "".join(f'[columns.c{i}]\nkind = "category"\ncategories = ["a", "b"]\n\n' for i in range(n_columns))
    before, after = CONFIG.index("[columns.face]"), CONFIG.index("[[generators]]")
    (folder / "coins.toml").write_text(CONFIG[:before] + columns + CONFIG[after:])
    (folder / "acceptance.toml").write_text(ACCEPTANCE.replace("epsilon = 0.5", "epsilon = 0.5\nlargest = 1"))
    lines = [",".join(f"c{i}" for i in range(n_columns)), *(["a,b," * (n_columns // 2) + "a"] * 50)]
    (folder / "coins.csv").write_text("\n".join(line.rstrip(",") for line in lines) + "\n")
    return folder / "coins.toml"


def refused(folder: Path, config: Path, data: Path) -> str:
    """The message with which a release is refused; nothing may be charged or written."""
    with pytest.raises(SpecError) as found:
        synthrelease.release(config, data, folder / "out")
    assert found.value.exit_code == 2
    assert not {"out", "out.ledger"} & {path.name for path in folder.iterdir()}
    return " ".join(str(found.value).split())


# --- What fails for sure


def test_privbayes_takes_more_columns_than_einsum_can_tell_apart(tmp_path: Path) -> None:
    spec = load_spec(write_wide(tmp_path, 60))
    assert spec.schema.layout.n_cells == 2**60
    assert len(dry_run(spec, {}).configurations) == 1


def breaking(*_: object, **__: object) -> None:
    raise IndexError("string index out of range")


PLACES = {
    "post-processing of a fit": "synthrelease.generators.privbayes.build_network",
    "private code of a fit": "synthrelease.generators.privbayes_mechanism._choose_structure",
    "projection": "synthrelease.generators.projections.MinimumCount.project",
    "criterion": "synthrelease.criteria.marginals_mechanism.largest_difference",
    "a public criterion": "synthrelease.criteria.face_privacy.RareRows.query",
}


@pytest.mark.parametrize("place", PLACES)
def test_an_error_in_any_part_of_an_attempt_is_refused_with_its_configuration(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, data = write_config(tmp_path), write_data(tmp_path)
    monkeypatch.setattr(PLACES[place], breaking)
    said = refused(tmp_path, config, data)
    assert '"family": "privbayes"' in said
    assert "IndexError at synthrelease/" in said
    assert "Nothing was read, and nothing was spent" in said


def test_a_failure_of_code_that_reads_counts_does_not_say_that_the_budget_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, data = write_config(tmp_path), write_data(tmp_path)
    monkeypatch.setattr(PLACES["private code of a fit"], lambda *_, **__: opaque(breaking))
    said = refused(tmp_path, config, data)
    assert "Nothing was read, and nothing was spent" in said
    assert "budget counts as spent" not in said


def test_what_is_asked_after_acceptance_is_tried_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, data = write_config(tmp_path, {"stop_probability = 0.001": JOINT["stop_probability = 0.001"]}), write_data(tmp_path)
    assert load_spec(config).joint_test is not None
    monkeypatch.setattr("synthrelease.criteria.scoring.JointTest.passes", breaking)
    assert "IndexError" in refused(tmp_path, config, data)
    monkeypatch.undo()
    monkeypatch.setattr("synthrelease.releasing.attempt.figures_of", breaking)  # the figures of the accepted candidate
    assert "IndexError" in refused(tmp_path, config, data)


def test_criteria_are_asked_also_where_no_candidate_comes_of_made_up_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = load_spec(write_config(tmp_path))

    def rejected(*_: object) -> None:
        raise RejectedRound("no row")

    monkeypatch.setattr(module, "generate", rejected)
    assert len(dry_run(spec, {}).configurations) == 1
    monkeypatch.setattr("synthrelease.criteria.marginals_mechanism.largest_difference", breaking)
    with pytest.raises(SpecError, match="IndexError"):
        dry_run(spec, {})


def test_rules_that_forbid_every_row_are_refused(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"never = \"face == 'tail' and year > 6\"": "never = \"face == 'tail'\""})
    config.write_text(config.read_text().replace("[[generators]]", "[[rules]]\nnever = \"face == 'head'\"\n\n[[generators]]"))
    assert "rules: The rules exclude every possible row of the private file" in refused(tmp_path, config, write_data(tmp_path))


def test_a_run_that_needs_more_memory_than_there_is_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load_spec(write_config(tmp_path))
    peaks = iter([400, 5000] * 4)
    monkeypatch.setattr(module, "megabytes_in_use", lambda: next(peaks))
    monkeypatch.setattr(memory, "machine_megabytes", lambda: 6000)
    assert dry_run(spec, {}).seconds > 0
    with pytest.raises(
        ResourceError, match="needed about 14,200 MB of memory, but this machine has only 6,000 MB. Nothing was spent"
    ):
        dry_run(spec, {}, jobs=2)
    monkeypatch.setattr(memory, "machine_megabytes", lambda: 4999)
    with pytest.raises(ResourceError, match="needed about 5,000 MB"):
        dry_run(spec, {})

    def greedy(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(module, "generate", greedy)
    with pytest.raises(ResourceError, match="more memory than this machine has"):
        dry_run(spec, {})


# --- What is tried


def test_made_up_rows_are_plausible_and_always_the_same(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path))
    table = made_up(spec)
    assert table.total == spec.rows.stated == 400  # as many as are stated, up to ROWS
    assert made_up(replace(spec, rows=RowsRule())).total == ROWS
    assert not spec.raw.forbidden(table.bins).any()
    assert len(table.codes) == spec.schema.layout.n_cells - 1  # every other cell occurs, so every group has rows
    assert 0.5 < table.counts.min() / table.counts.mean() <= 1
    assert np.array_equal(table.counts, made_up(spec).counts)


FAMILIES = (
    'family = "privbayes"\nflavour = "degree"\ndegree = [1, 3, 2]\nepsilon_split = 0.5\n\n[[generators]]\n'
    'family = "marginals"\ntables = ["face + year", "all 2-way"]'
)


def largest_and_smallest(spec: ReleaseSpec) -> set[tuple[str, int, float]]:
    """Over all configurations, one by one."""
    found: set[tuple[str, int, float]] = set()
    for family in {one.generator.family for one in spec.space}:
        sizes = [
            (family, one.transformation.layout.n_cells, one.generator.effort(one.transformation.layout))
            for one in spec.space
            if one.generator.family == family
        ]
        found |= {min(sizes), max(sizes)}
    return found


def test_every_family_is_tried_at_its_smallest_and_its_largest(tmp_path: Path) -> None:
    years = 'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]'
    config = write_config(tmp_path, {PRIVBAYES: FAMILIES, years: years + '\nalternatives.all = ["1-8"]'})
    config.write_text(config.read_text().replace("minimum_count = 2", "minimum_count = [2, 3]"))
    spec = load_spec(config)
    for one in (spec, replace(spec, space=replace(spec.space, shortlist=(3, 8, 10)))):
        layouts = [(c.generator.family, c.transformation.layout, c.generator) for c in extremes(one)]
        assert {(name, layout.n_cells, made.effort(layout)) for name, layout, made in layouts} == largest_and_smallest(one)
    assert len(list(extremes(spec))) == 4


def test_a_smaller_table_that_is_more_work_is_tried_too(tmp_path: Path) -> None:
    """A shortlist may have the heaviest generator on the coarser bins alone."""
    years = 'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]'
    config = write_config(tmp_path, {PRIVBAYES: FAMILIES, years: years + '\nalternatives.last = ["1-2", "3-4", "5-8"]'})
    spec = load_spec(config)
    cells = [one.transformation.layout.n_cells for one in spec.space]
    degrees = [getattr(one.generator, "degree", None) for one in spec.space]
    listed = [(cells.index(min(cells)), 3), (cells.index(max(cells)), 1)]
    chosen = tuple(
        next(i for i, (size, degree) in enumerate(zip(cells, degrees, strict=True)) if size == cells[at] and degree == wanted)
        for at, wanted in listed
    )
    tried = extremes(replace(spec, space=replace(spec.space, shortlist=chosen)))
    assert [getattr(one.generator, "degree", None) for one in tried] == [3, 1]


def test_every_family_says_how_much_work_it_is(tmp_path: Path) -> None:
    layout = load_spec(write_config(tmp_path)).schema.layout
    more: dict[str, tuple[dict[str, object], dict[str, object]]] = {
        "privbayes": (
            {"flavour": "theta", "theta": 20.0, "epsilon_split": 0.5},
            {"flavour": "theta", "theta": 4.0, "epsilon_split": 0.5},
        ),
        "mwem": ({"queries": 10, "iterations": 2}, {"queries": 10, "iterations": 9}),
        "pep": ({"queries": 10, "iterations": 2}, {"queries": 99, "iterations": 2}),
        "dpgan": ({"steps": 5}, {"steps": 50}),
        "marginals": ({"tables": "face + year"}, {"tables": "all 2-way"}),
    }
    for family, (small, large) in more.items():
        efforts = [GENERATORS[family](family=family, **fields).effort(layout) for fields in (small, large)]
        assert efforts[0] < efforts[1], family


@pytest.mark.parametrize("name", ["births", "births-public-prior"])
def test_the_births_pass(name: str) -> None:
    """Their configurations are of about one size, so the largest is tried alone."""
    spec = load_spec(ROOT / "configs" / f"{name}.toml")
    (tried,) = dry_run(spec, read_priors(spec)).configurations
    assert tried.transformation.layout.n_cells == max(each.transformation.layout.n_cells for each in spec.space)
