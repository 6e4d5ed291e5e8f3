"""How [selection] and [budget] become a plan, a refusal, or a release."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.write import write_bundle
from synthrelease.cli import app
from synthrelease.errors import BudgetError, SpecError, Unexpected
from synthrelease.generators.privbayes import PrivBayes
from synthrelease.privacy.charges import zero_concentrated
from synthrelease.privacy.curves import curve_of_pure, epsilon_of, selected, zcdp
from synthrelease.privacy.curves import rho_of_pure as gaussian_rho_of_pure
from synthrelease.privacy.ledger import open_ledger, reserve_for_release
from synthrelease.privacy.selection import FiniteLaw, NegativeBinomial, StopCoin
from synthrelease.published.document import read_strictly
from synthrelease.published.verify.charges import charges
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import RehearsalRequest
from synthrelease.studio.rehearsal.rehearse import rehearse
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

BEST_OF_K = 'mode = "truncated_negative_binomial"\nstop_probability = 0.05\nshape = 0'
STOP = "stop_probability = 0.001"
HIDDEN = 'mode = "hidden_number"\nrounds = { 1 = 0.2, 2 = 0.8 }'
LAW = FiniteLaw.of({1: Fraction("0.2"), 2: Fraction("0.8")})


def spec_with(folder: Path, changes: dict[str, str]) -> ReleaseSpec:
    return load_spec(write_config(folder, changes))


@pytest.fixture
def approximate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrivBayes, "guarantee", "approximate")


@pytest.fixture
def concentrated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrivBayes, "guarantee", "zCDP")


def test_pure_rounds_with_a_hidden_number_of_rounds(tmp_path: Path) -> None:
    spec = spec_with(tmp_path, {STOP: BEST_OF_K.replace("shape = 0", "shape = -0.5")})
    law = NegativeBinomial(shape=Fraction(-1, 2), stop_probability=Fraction(1, 20))
    assert spec.plan.total.epsilon == law.price(Fraction("10.5")) < Fraction(3, 2) * Fraction("10.5")
    assert spec.plan.total.delta == 0


def test_a_law_with_finitely_many_values_from_the_two_files_to_verify(tmp_path: Path) -> None:
    """It is in the plan, in a steward's words, in release.json and on the card; another law there does not fit the charges."""
    config = write_config(tmp_path, {STOP: HIDDEN})
    spec = load_spec(config)
    assert spec.plan.total.epsilon == LAW.price(Fraction("10.5")) < 2 * Fraction("10.5")
    told = " ".join(CliRunner().invoke(app, ["plan", str(config)]).stdout.split())
    assert "a hidden number of rounds (1 with probability 0.2, 2 with probability 0.8" in told
    assert "Keep the number of rounds and the duration of the run secret" in told
    assert (
        "The probability is 30% if 1 in 2 rounds is accepted, 83% if 1 in 10, 98% if 1 in 100." in told
    )  # 0.2 r + 0.8 r^2, r = 1/2, 9/10, 99/100
    result = release(spec, write_data(tmp_path))
    assert result is not None
    folder = write_bundle(result, tmp_path / "out")
    assert verify_bundle(folder).passed
    path = folder / "release.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["format"], document["selection"]["rounds"]) == (1, {"1": "1/5", "2": "4/5"})
    assert document["selection"]["stop_probability"] is None
    page = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    assert "limited to a hidden number of rounds, drawn beforehand (1 with probability 20%, 2 with probability 80%)" in page
    document["selection"]["rounds"] = {"1": "4/5", "2": "1/5"}
    found = charges(read_strictly(json.dumps(document)))
    assert [problem.split(": ")[1][:15] for problem in found.problems] == ["its parts give "]
    for law, problem in (
        ({"1": "4/5", "2": "4/5"}, "must sum to 1"),
        (None, "exactly one distribution"),
        ({}, "found no number"),
    ):
        document["selection"]["rounds"] = law
        with pytest.raises(Unexpected, match=problem):
            read_strictly(json.dumps(document))


@pytest.mark.usefixtures("concentrated")
@pytest.mark.parametrize("rounds", [HIDDEN, "stop_probability = 0.02"])
def test_zero_concentrated_rounds_cost_the_price_at_their_share_of_delta(rounds: str, tmp_path: Path) -> None:
    """The criteria's 0.5 add to the epsilon of the fit; not Gaussian, as PrivBayes is not."""
    spec = spec_with(tmp_path, {"generation = 10": "generation = 0.1\ndelta = 1e-9", STOP: rounds})
    law = spec.selection_rule.law
    assert isinstance(law, StopCoin | FiniteLaw)
    delta = Fraction(1, 10**9)
    assert not spec.plan.per_round[0].gaussian
    least = law.price(Fraction(1, 2) + zcdp(Fraction(1, 10)).epsilon(delta / law.exact_mean))
    assert least <= spec.plan.total.epsilon <= least + Fraction(1, 10**6)
    assert spec.plan.total.delta == delta


@pytest.mark.usefixtures("approximate")
def test_a_law_with_finitely_many_values_multiplies_delta_by_its_mean(tmp_path: Path) -> None:
    changes = {"generation = 10": "generation = 1\ngeneration_delta = 1e-12\ndelta = 1e-7", STOP: HIDDEN}
    total = spec_with(tmp_path, changes).plan.total
    assert (total.epsilon, total.delta) == (LAW.approximate_price(Fraction(3, 2), Fraction(1, 10**12)), Fraction("1.8e-12"))


def test_the_probability_of_nothing_of_a_law_with_finitely_many_values() -> None:
    assert LAW.nothing(0.5) == pytest.approx(0.3)


def test_a_release_with_a_hidden_number_of_rounds(tmp_path: Path) -> None:
    spec = spec_with(tmp_path, {STOP: BEST_OF_K.replace("0.05", "0.0001")})
    result = release(spec, write_data(tmp_path))
    assert result is not None
    assert result.candidate.n == 400
    assert Fraction("10.5") < result.guarantee.epsilon < 2 * Fraction("10.5")


@pytest.mark.usefixtures("approximate")
def test_approximate_rounds_need_a_delta_in_the_budget_and_a_coin(tmp_path: Path) -> None:
    small = {"generation = 10": "generation = 1\ngeneration_delta = 1e-12\ndelta = 1e-7"}
    spec = spec_with(tmp_path, small)
    ratio, stop = math.exp(1.5), 0.001
    worst = (ratio + stop) / (1 + stop * ratio)
    assert 0 < float(spec.plan.total.epsilon) - (1.5 + math.log(worst)) < 1e-6
    assert spec.plan.total.delta == Fraction(1, 10**9)
    with pytest.raises(BudgetError, match="only if the rounds satisfy pure"):
        _ = spec_with(tmp_path, small | {STOP: "stop_probability = 0"}).plan
    with pytest.raises(BudgetError, match="delta is only"):
        _ = spec_with(tmp_path, {"generation = 10": "generation = 1\ngeneration_delta = 1e-12\ndelta = 1e-10"}).plan


@pytest.mark.usefixtures("concentrated")
def test_zero_concentrated_rounds_are_stated_at_the_delta_of_the_budget(tmp_path: Path) -> None:
    spec = spec_with(tmp_path, {"generation = 10": "generation = 0.1\ndelta = 1e-9", STOP: BEST_OF_K})
    curve = selected(zcdp(Fraction(1, 10)) + curve_of_pure(Fraction(1, 2)), Fraction(0), Fraction(1, 20))
    assert spec.plan.total.epsilon == curve.epsilon(Fraction(1, 10**9))
    assert spec.plan.per_round[0] == zero_concentrated("generation", Fraction(1, 10), spec.plan.per_round[0].because[11:])
    with pytest.raises(
        SpecError, match="selection.stop_probability: This must be above 0, because .* 'privbayes' is zero-concentrated"
    ):
        spec_with(tmp_path, {"generation = 10": "generation = 0.1\ndelta = 1e-9", STOP: "stop_probability = 0"})
    said = "budget.delta: This must be above 0, because .* 'privbayes' is zero-concentrated. Choose a number far below 1 / "
    with pytest.raises(SpecError, match=said):
        spec_with(tmp_path, {"generation = 10": "generation = 0.1", STOP: BEST_OF_K})


@pytest.mark.usefixtures("concentrated")
@pytest.mark.parametrize("delta", ["1e-9", "0.001"])
def test_a_large_delta_is_told_and_one_that_fits_no_table_is_refused(delta: str, tmp_path: Path) -> None:
    """`plan` knows no number of rows; `check` does: 0.001 for 400 of them."""
    changes = {"generation = 10": f"generation = 0.1\ndelta = {delta}", STOP: BEST_OF_K}
    config, data = write_config(tmp_path, changes), write_data(tmp_path)
    plan = CliRunner().invoke(app, ["plan", str(config)])
    check = CliRunner().invoke(app, ["check", str(config), "--data", str(data)])
    assert "is a rho, because some generators" in plan.stdout
    assert f"delta = {float(delta):g}" in check.stdout
    assert ("delta is large" in plan.stdout) == (delta == "0.001")
    assert isinstance(check.exception, BudgetError) == (delta == "0.001")


@pytest.mark.usefixtures("concentrated")
def test_a_ledger_adds_epsilon_and_delta_of_such_releases(tmp_path: Path) -> None:
    spec = spec_with(tmp_path, {"generation = 10": "generation = 0.1\ndelta = 2e-12", STOP: BEST_OF_K})
    with pytest.raises(BudgetError, match="allows only delta = 0 .pure differential privacy.*a new ledger with --delta-limit"):
        reserve_for_release(open_ledger(tmp_path / "pure.ledger", "coins", 100).path, spec.plan, spec.title)
    ledger = open_ledger(tmp_path / "coins.ledger", "coins", 100, delta_limit="3e-12")
    after = reserve_for_release(ledger.path, spec.plan, spec.title)
    assert (after.epsilon, after.delta) == (spec.plan.total.epsilon, Fraction(2, 10**12))
    assert "delta 2e-12 of 3e-12" in after.logbook_line()
    with pytest.raises(BudgetError, match="allows delta"):
        reserve_for_release(ledger.path, spec.plan, spec.title)
    with pytest.raises(BudgetError, match="A ledger needs its epsilon and delta"):
        ledger.reserve(spec.plan.per_round[0], "a curve")
    assert ledger.statement() == after


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({STOP: BEST_OF_K.replace("0.05", "0")}, "of the number of rounds. It must be at least 1e-6 and below 1, not 0"),
        ({STOP: BEST_OF_K.replace("0.05", "1e-7")}, "of the number of rounds. It must be at least 1e-6 and below 1, not 1e-07"),
        (
            {STOP: BEST_OF_K.replace("shape = 0", "shape = -1e-9")},
            "shape of 0, or a shape of at least 1e-6 in absolute value, found -1e-09",
        ),
        ({STOP: BEST_OF_K.replace("shape = 0", "shape = -1")}, "greater than -1"),
        ({"generation = 10": "generation = 1\ngeneration_delta = 1e-9"}, "the guarantee of 'privbayes' is pure"),
        ({"generation = 10": "generation = 1\ndelta = 1"}, "less than 1"),
        ({STOP: HIDDEN.replace("0.8", "0.81")}, "selection.rounds: The probabilities must sum to 1. Their sum is 0.01 above 1"),
        ({STOP: HIDDEN.replace("0.8", "0.7999999999999999999")}, r"must sum to 1. Their sum is 1e-19 below 1"),
        ({STOP: HIDDEN.replace("2 =", "0 =")}, r"selection\.rounds"),
        ({STOP: HIDDEN.replace("2 =", "'2.5' =")}, r"selection\.rounds"),
        ({STOP: HIDDEN.replace("2 =", "20000 =")}, "from 1 to 10,000 in ascending order, found 1, 20000"),
        ({STOP: HIDDEN.replace("0.8", "-0.8")}, r"selection\.rounds"),
        ({STOP: 'mode = "hidden_number"'}, 'hidden_number" needs `rounds`'),
        ({STOP: "rounds = { 1 = 1 }"}, 'hidden_number" needs `rounds`, and other modes must not have `rounds`'),
        ({STOP: f"{STOP}\n{HIDDEN}"}, "stop_probability has no effect"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        spec_with(tmp_path, changes)


@pytest.mark.usefixtures("approximate")
def test_a_family_with_an_approximate_guarantee_needs_its_delta(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match="generation_delta: This must be above 0, because the guarantee of 'privbayes' is approximate. It is 0"
    ):
        spec_with(tmp_path, {})


@pytest.mark.usefixtures("approximate")
def test_a_rehearsal_without_a_guarantee_is_refused_before_its_folder_is_made(tmp_path: Path) -> None:
    spec = spec_with(tmp_path, {"generation = 10": "generation = 1\ngeneration_delta = 1e-9", STOP: "stop_probability = 0"})
    with pytest.raises(BudgetError):
        rehearse(spec, RehearsalRequest(config=Path(spec.path), data=str(write_data(tmp_path)), out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rounds", ["stop_probability = 0.1", HIDDEN])
def test_a_gaussian_release_is_verified_and_what_is_understated_is_found(rounds: str, tmp_path: Path) -> None:
    """From the two files to the bundle, with the exact curve; then without what makes it exact, and with another number."""
    config = write_config(
        tmp_path,
        {
            'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': 'family = "adaptive"',
            "generation = 10\nlimit = 25": "generation = 8\ndelta = 1e-6\nlimit = 40",
            STOP: rounds,
        },
    )
    spec = load_spec(config)
    law = spec.selection_rule.law
    assert isinstance(law, StopCoin | FiniteLaw)
    assert spec.plan.per_round[0].gaussian
    least = law.price(epsilon_of(8 + gaussian_rho_of_pure(Fraction(1, 2)), Fraction(1, 10**6) / law.exact_mean))
    assert least <= spec.plan.total.epsilon <= least + Fraction(1, 10**6)
    result = release(spec, write_data(tmp_path))
    assert result is not None
    assert result.guarantee.epsilon == spec.plan.total.epsilon
    folder = write_bundle(result, tmp_path / "out")
    assert verify_bundle(folder).passed
    path = folder / "release.json"
    text = path.read_text(encoding="utf-8")
    assert text.count('"gaussian": true') == 1
    path.write_text(re.sub(r',\s*"gaussian": true', "", text), encoding="utf-8")
    problems = [problem for check in verify_bundle(folder).checks for problem in check.problems]
    assert any("'selection': its parts give" in problem for problem in problems)  # the Renyi conversion gives more


@pytest.mark.parametrize("family", ['family = "pep"\nqueries = 10\niterations = 8', pytest.param('family = "mst"')])
def test_a_zero_concentrated_release_states_its_curves_and_verify_adds_them_up(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the two files to the bundle; then a rho that somebody lowers in release.json is found."""
    if "mst" in family:
        pytest.importorskip("snsynth", reason="needs the extra smartnoise")
        estimation = pytest.importorskip("mbi.estimation", reason="needs the extra smartnoise")
        fit = estimation.mirror_descent  # thousands of steps, of which a few are enough here
        monkeypatch.setattr(
            estimation, "mirror_descent", lambda *given, iters, **more: fit(*given, iters=min(iters, 50), **more)
        )
    config = write_config(
        tmp_path,
        {
            'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': family,
            "generation = 10\nlimit = 25": "generation = 4\ndelta = 1e-6",
            "stop_probability = 0.001": 'mode = "truncated_negative_binomial"\nstop_probability = 0.1',
        },
    )
    result = release(load_spec(config), write_data(tmp_path))
    assert result is not None
    folder = write_bundle(result, tmp_path / "out")
    assert verify_bundle(folder).passed
    assert ("mbi" in json.loads((folder / "release.json").read_text(encoding="utf-8"))["versions"]) == ("mst" in family)
    public = (folder / "README.md").read_text(encoding="utf-8").split("## For data users")[0]
    assert "(delta), at most: 0.000001" in public
    assert "This may fail with a small probability, delta" in public
    for name in ("deployment.yaml", "README.html"):
        words = " ".join((folder / name).read_text(encoding="utf-8").split())
        assert "protected with k times the epsilon, with k e^((k - 1) epsilon) times the delta." in words
    path = folder / "release.json"
    text = path.read_text(encoding="utf-8")
    assert text.count('"rho": "4"') == 1
    path.write_text(text.replace('"rho": "4"', '"rho": "3"'), encoding="utf-8")
    problems = [problem for check in verify_bundle(folder).checks for problem in check.problems]
    stated = "'one round': its parts give the curve 3.125 a, but it states the curve 4.125 a"
    assert any(stated in problem for problem in problems)


@pytest.mark.parametrize(
    ("families", "rounds", "exactly"),
    [
        (('family = "adaptive"',), "stop_probability = 0.1", True),
        (('family = "adaptive"',), BEST_OF_K, False),
        (('family = "adaptive"', 'family = "pep"\nqueries = 10\niterations = 8'), "stop_probability = 0.1", False),
        (('family = "adaptive"', 'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5'), HIDDEN, False),
    ],
    ids=["alone", "negative binomial", "with pep", "with a pure one"],
)
def test_a_fit_is_gaussian_where_every_family_and_the_loop_are_accounted_so(
    families: tuple[str, ...], rounds: str, exactly: bool, tmp_path: Path
) -> None:
    first = 'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5'
    spec = spec_with(
        tmp_path,
        {
            first: "\n\n[[generators]]\n".join(families),
            "generation = 10\nlimit = 25": "generation = 0.1\ndelta = 1e-9",
            STOP: rounds,
        },
    )
    assert len(spec.space.generators) == len(families)
    assert spec.plan.per_round[0].gaussian == exactly
