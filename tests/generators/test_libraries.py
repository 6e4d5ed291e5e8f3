"""MST and AIM: the traps of the libraries behind them, each on a table whose truth is known."""

from __future__ import annotations

import itertools
import subprocess
import sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import BudgetError, InputError, PrivateFailure
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Background, Model
from synthrelease.generators.bayesian_network import BayesianNetwork
from synthrelease.generators.smartnoise import AIM, MST, LibraryGenerator
from synthrelease.generators.smartnoise_library import decompressed, library_budget, ours
from synthrelease.generators.smartnoise_mechanism import Randomness, dataset
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.noise import SYSTEM, SystemEntropy
from synthrelease.publish import check_before_spending
from synthrelease.spec.load import load_spec
from synthrelease.spec.requests import ReleaseRequest
from synthrelease.studio.audit.tiny import World
from tests.helpers.late import library
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

aim_library = library("snsynth.aim.aim", reason="needs the extra smartnoise")
estimation = library("mbi.estimation", reason="needs the extra smartnoise")
junction_tree = library("mbi.junction_tree", reason="needs the extra smartnoise")

WORLD = World({"a": 1, "b": 2, "c": 3})
RHO = Fraction(2)
FAMILIES = [MST(), AIM(rounds=4)]
each_family = pytest.mark.parametrize("generator", FAMILIES, ids=lambda generator: generator.family)


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = estimation.mirror_descent
    # the length of the first step is compiled for a while; one that is too long is halved until it is none
    monkeypatch.setattr("mbi.marginal_loss.calculate_l2_lipschitz", lambda *given: 0.01)
    monkeypatch.setattr(
        "mbi.estimation.mirror_descent", lambda *given, iters, **more: fit(*given, iters=min(iters, 200), **more)
    )


def rows_of(world: World, n: int, seed: int = 0) -> list[int]:
    cells = world.layout.n_cells
    return np.random.default_rng(seed).choice(cells, size=n, p=np.arange(cells, 0, -1) / (cells * (cells + 1) / 2)).tolist()


def fit(generator: LibraryGenerator, world: World, rows: list[int], entropy: SystemEntropy = SYSTEM) -> Model:
    charge = generator.charge(RHO)
    private = PrivateCounts(world.counts(rows), Meter([charge]), entropy)
    return generator.fit(private, charge, Background(plausibility=Plausibility(layout=world.layout, masks=())))


def test_the_families_are_known_as_libraries() -> None:
    assert {generator.family for generator in FAMILIES} == {name for name, family in GENERATORS.items() if family.by_library}


def dependence(table: np.ndarray) -> float:
    """Total variation distance of a table of two columns from the product of its margins."""
    p = table / table.sum()
    return float(np.abs(p - np.outer(p.sum(axis=1), p.sum(axis=0))).sum() / 2)


def test_columns_that_are_independent_given_another_stay_so(few_steps: None) -> None:
    """a, then b and c each drawn from a alone. mbi's own rows tie b and c together inside each a; the rows here do not."""
    world, generator = World({"a": 1, "b": 3, "c": 3}), np.random.default_rng(1)
    a = generator.integers(0, 2, 20_000)
    b, c = (generator.binomial(3, 0.3 + 0.4 * a) for _ in range(2))
    charge = MST().charge(Fraction(10**6))
    private = PrivateCounts(Counts(world.layout, 16 * a + 4 * b + c), Meter([charge]))
    model = MST().fit(private, charge, Background(plausibility=Plausibility(layout=world.layout, masks=())))
    rows = model.sample(20_000, generator).expand()
    mine = [dependence(np.histogram2d(*rows[rows[:, 0] == value, 1:].T, bins=4)[0]) for value in (0, 1)]
    fitted = estimation.mirror_descent(
        dataset(world.counts([0])).domain,
        [measurement(world, a, b, c, columns) for columns in ((0, 1), (0, 2))], known_total=20_000.0, iters=200,
    )  # fmt: skip
    theirs = np.column_stack([fitted.synthetic_data(20_000).to_dict()[f"col{i}"] for i in range(3)])
    library = [dependence(np.histogram2d(*theirs[theirs[:, 0] == value, 1:].T, bins=4)[0]) for value in (0, 1)]
    assert max(mine) < 0.03
    assert min(library) > 0.1  # the reason why its rows are not used


def measurement(world: World, a: np.ndarray, b: np.ndarray, c: np.ndarray, columns: tuple[int, int]) -> Any:
    from mbi import LinearMeasurement

    table = Counts(world.layout, 16 * a + 4 * b + c).marginal(columns)
    return LinearMeasurement(table.ravel().astype(float), tuple(f"col{i}" for i in columns), 1.0)


@each_family
def test_bins_that_nobody_has_are_part_of_the_domain(generator: LibraryGenerator, few_steps: None) -> None:
    """The domain is the public layout, although all private rows are in one cell of 24."""
    model = fit(generator, WORLD, [0] * 30)
    assert isinstance(model, BayesianNetwork)
    assert model.layout == WORLD.layout
    shapes = {family.column: family.conditional.shape[-1] for family in model.families}
    assert shapes == {0: 2, 1: 3, 2: 4}
    assert all((family.conditional > 0).all() for family in model.families)


@each_family
def test_the_global_generator_of_numpy_decides_nothing(
    generator: LibraryGenerator, few_steps: None, capfd: pytest.CaptureFixture[str]
) -> None:
    """Two fits after the same numpy.random.seed differ, and its state is not touched. Neither prints anything."""
    samples = []
    for _ in range(2):
        np.random.seed(5)  # noqa: NPY002
        before = np.random.get_state()[1].tolist()  # noqa: NPY002
        samples.append(fit(generator, WORLD, rows_of(WORLD, 200)).sample(200, np.random.default_rng(0)).dense().tolist())
        assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert samples[0] != samples[1]
    assert capfd.readouterr() == ("", "")


class Bill(Randomness):
    """Keeps every account, to look at it afterwards."""

    made: list[Randomness] = []

    def __init__(self, rho: Fraction, entropy: SystemEntropy):
        super().__init__(rho, entropy)
        self.given = rho
        Bill.made.append(self)


@each_family
def test_a_fit_draws_what_it_was_given_and_no_more(
    generator: LibraryGenerator, few_steps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Added up draw by draw: a quarter of the rho that is stated for replacing a record, to a part in a million."""
    Bill.made.clear()
    monkeypatch.setattr("synthrelease.generators.smartnoise_mechanism.Randomness", Bill)
    fit(generator, WORLD, rows_of(WORLD, 300))
    (bill,) = Bill.made
    assert bill.given == RHO / 4  # type: ignore[attr-defined]
    assert 0 <= bill.left < bill.given * Fraction(1, 10**6)  # type: ignore[attr-defined]


def test_the_library_spends_too_much_with_fewer_rounds_than_columns_and_is_stopped() -> None:
    """Its first measurements, of all columns, cost 0.9 d / rounds of rho: 1.35 with three columns and two rounds."""
    rho = Fraction(1)
    randomness = Randomness(rho, SYSTEM)
    synthesizer = aim_library.AIMSynthesizer(degree=2, rounds=2)
    synthesizer.rho = library_budget(rho)
    data = dataset(WORLD.counts(rows_of(WORLD, 50)))
    with (
        ours(import_module("snsynth.aim.aim"), gaussian_noise=randomness.gaussian_noise),
        pytest.raises(BudgetError, match="more than it was given"),
    ):
        synthesizer.AIM(data, synthesizer.get_workload(data, degree=2, max_cells=100))
    mistakes = list(AIM(rounds=2).mistakes(WORLD.layout, []))
    assert [mistake.field for mistake in mistakes] == ["rounds"]
    assert mistakes[0].text.startswith("There are 3 columns but only 2 rounds")


def test_a_failure_inside_the_library_ends_the_run_without_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object, **more: object) -> None:
        raise ValueError("row 17 is odd")

    monkeypatch.setattr("mbi.estimation.mirror_descent", broken)
    with pytest.raises(PrivateFailure) as failure:
        fit(MST(), WORLD, rows_of(WORLD, 30))
    assert "17" not in str(failure.value)
    assert failure.value.__cause__ is None


@pytest.mark.parametrize("broken", ["snsynth.aim", "mbi.junction_tree"])
def test_a_broken_installation_shows_up_before_anything_is_spent(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, broken, None)
    spec = load_spec(
        write_config(
            tmp_path,
            {
                'family = "privbayes"\nflavour = "degree"': 'family = "aim"',
                "degree = 1\nepsilon_split = 0.5": "rounds = 4",
                "generation = 10\nlimit = 25": "generation = 4\ndelta = 1e-6",
                "stop_probability = 0.001": 'mode = "truncated_negative_binomial"\nstop_probability = 0.1',
            },
        )
    )
    request = ReleaseRequest(config=tmp_path / "coins.toml", data=write_data(tmp_path), out=tmp_path / "out")
    with pytest.raises(InputError, match="The installed libraries of 'aim' cannot be used"):
        check_before_spending(spec, request)


def test_the_size_of_an_aim_model_is_that_of_its_junction_tree(few_steps: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's own adds up the tables and leaves out what ties them together, here a ring of six pairs."""
    domain = dataset(World(dict.fromkeys("abcdef", 3)).counts([0])).domain
    ring = list(itertools.pairwise([*domain.attributes, domain.attributes[0]]))
    assert aim_library.hypothetical_model_size(domain, ring) == 6 * 16 * 8 / 2**20
    assert junction_tree.hypothetical_model_size(domain, ring) == 4 * 64 * 8 / 2**20
    size, asked = junction_tree.hypothetical_model_size, []
    monkeypatch.setattr("mbi.junction_tree.hypothetical_model_size", lambda *given: asked.append(given) or size(*given))
    fit(AIM(rounds=4), WORLD, rows_of(WORLD, 300))
    assert asked


def test_merged_bins_share_what_their_bin_got() -> None:
    """A slow reference: every cell on its own."""
    generator = np.random.default_rng(3)
    supports = {0: np.array([True, False, True, False]), 1: np.ones(3, dtype=bool), 2: np.array([False, False, True])}
    values = generator.random((3, 3, 2))
    found = decompressed(values, (0, 1, 2), supports)
    assert found.shape == (4, 3, 3)
    assert found.sum() == pytest.approx(values.sum())
    first, last = {0: (0, 1), 1: (2, 2), 2: (1, 1), 3: (2, 2)}, {0: (1, 2), 1: (1, 2), 2: (0, 1)}
    for i, j, k in np.ndindex(4, 3, 3):
        (x, dx), (z, dz) = first[i], last[k]
        assert found[i, j, k] == pytest.approx(values[x, j, z] / (1 if i in (0, 2) else dx) / (1 if k == 2 else dz))


def test_torch_jax_and_the_libraries_are_loaded_when_they_are_needed() -> None:
    code = (
        "import sys, synthrelease.spec.load, synthrelease.generators; "
        "print(*{'torch', 'jax', 'mbi', 'snsynth', 'opacus'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
