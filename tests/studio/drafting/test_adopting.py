"""What a rehearsal proposes is written into the configuration, whole or not at all, and a release says where it was not."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.errors import BudgetError, InputError, OutputError, SpecError
from synthrelease.privacy.selection import FiniteLaw
from synthrelease.publish import Listener, publish
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import ReleaseRequest
from synthrelease.spec.shortlist import PlanTable, VerdictTable, judged_digest, narrowed, rounds_words, shortlist_text
from synthrelease.studio.drafting.edits import accept_lost, adopt
from synthrelease.studio.drafting.text import LOST_WHY
from synthrelease.studio.rehearsal.advice import Offer, with_law
from tests.cli.test_cli import run, words
from tests.conftest import ROOT
from tests.helpers.tiny import NOT_PROMISED, write_config, write_data

LAW = FiniteLaw.of({1: Fraction("0.25"), 7: Fraction("0.75")})


def offer(spec: ReleaseSpec, generation: str = "2.5") -> Offer:
    total = with_law(spec, Fraction(generation), LAW).plan.total.epsilon
    return Offer(generation=Fraction(generation), chances=(0.5,), law=LAW, total=total, nothing=0.01)


def test_the_lines_are_written_and_the_rest_stays(tmp_path: Path) -> None:
    config = write_config(
        tmp_path, {"generation = 10": "generation = 10   # of a fit", "stop_probability": "# a coin\nstop_probability"}
    )
    spec, before = load_spec(config), config.read_text()
    done = adopt(config, spec, offer(spec))
    loaded = load_spec(config)
    assert loaded.plan.total.epsilon == offer(spec).total == done.spec.plan.total.epsilon < done.before.epsilon
    assert (loaded.budget.generation, loaded.selection_rule.law) == (Fraction("2.5"), LAW)
    lines = config.read_text().splitlines()
    assert "generation = 2.5   # of a fit" in lines
    assert [line for line in before.splitlines() if line not in lines] == [
        "generation = 10   # of a fit",
        "stop_probability = 0.001",
    ]
    assert "instead of stop_probability = 0.001" in done.changes[1]


def test_a_shape_goes_with_the_law_that_it_was_of(tmp_path: Path) -> None:
    other = 'mode = "truncated_negative_binomial"\nshape = -0.5\nstop_probability = 0.05'
    config = write_config(tmp_path, {"stop_probability = 0.001": other})
    spec = load_spec(config)
    adopt(config, spec, offer(spec))
    selection = tomllib.loads(config.read_text())["selection"]
    assert selection == {"mode": "hidden_number", "rounds": {"1": 0.25, "7": 0.75}}


def test_tables_that_another_configuration_hands_down_are_written_out(tmp_path: Path) -> None:
    base = write_config(tmp_path)
    config = tmp_path / "second.toml"
    config.write_text(f'extends = "{base.name}"\ntitle = "Second"\n')
    before, spec = base.read_text(), load_spec(config)
    adopt(config, spec, offer(spec))
    assert base.read_text() == before
    assert load_spec(config).plan.total.epsilon == offer(spec).total
    assert load_spec(config).budget.limit == spec.budget.limit
    assert load_spec(base).plan.total.epsilon == spec.plan.total.epsilon


def test_what_costs_more_than_the_limit_is_not_written(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    spec, before = load_spec(config), config.read_text()
    with pytest.raises(BudgetError):
        adopt(config, spec, offer(spec, "40"))
    assert config.read_text() == before


def test_a_configuration_that_was_changed_since_is_left_alone(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    spec = load_spec(config)
    config.write_text(config.read_text().replace("minimum_count = 2", "minimum_count = 3"))
    before = config.read_text()
    with pytest.raises(OutputError, match="has changed since the rehearsal"):
        adopt(config, spec, offer(spec))
    assert config.read_text() == before


def test_lines_that_do_not_cost_what_was_said_are_not_written(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    spec, before = load_spec(config), config.read_text()
    wrong = replace(offer(spec), total=Fraction(1))
    with pytest.raises(OutputError, match="the changed plan costs another epsilon than the rehearsed plan"):
        adopt(config, spec, wrong)
    assert config.read_text() == before


def test_a_cheaper_plan_is_told_before_anything_is_checked_or_charged(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path))
    cheap = with_law(spec, Fraction("2.5"), LAW)
    proposal = PlanTable(
        epsilon=cheap.plan.total.epsilon,
        generation=Fraction("2.5"),
        rounds=rounds_words(cheap),
        acceptance=0.5,
        nothing=0.01,
        judged=judged_digest(spec.tables),
    )
    shortlist = tmp_path / "shortlist.toml"
    shortlist.write_text(shortlist_text("Coins", [spec.space[0].describe()], proposal=proposal))
    told = list[str]()

    class Told(Listener):
        def chosen(self, spec: ReleaseSpec) -> None:
            told.append("chosen")

        def cheaper(self, spec: ReleaseSpec, proposal: PlanTable) -> None:
            told.append(f"{float(proposal.epsilon):g} is less than {float(spec.plan.total.epsilon):g}")

    (tmp_path / "out").mkdir()  # which refuses the release before it is paid for
    request = ReleaseRequest(config=Path(spec.path), data=write_data(tmp_path), out=tmp_path / "out", shortlist=shortlist)
    with pytest.raises(OutputError):
        publish(request, Told())
    assert told == ["chosen", f"{float(proposal.epsilon):g} is less than {float(spec.plan.total.epsilon):g}"]


@pytest.mark.slow
def test_from_a_rehearsal_to_the_release_that_costs_what_was_found(tmp_path: Path) -> None:
    """Without --adopt a release says on one line of stderr what it could cost; with it nothing is said."""
    config, data = write_config(tmp_path, NOT_PROMISED), write_data(tmp_path)
    private = tmp_path / "private.csv"
    private.write_text(data.read_text() + "head,1\n")
    out, shortlist = tmp_path / "trial", tmp_path / "trial" / "shortlist.toml"
    rehearse = ["rehearse", config, "--data", data, "--out", out, "--seed", "3", "--copies", "0"]
    assert run(*rehearse).returncode == 0
    proposal = tomllib.loads(shortlist.read_text())["proposal"]
    dear = load_spec(config).plan.total.epsilon
    planned = run("plan", config, "--shortlist", shortlist)
    assert planned.returncode == 0
    assert "the search finds no acceptable table, and the budget is spent." in words(planned.stdout)
    warned = [line for line in planned.stderr.splitlines() if "The rehearsal found a cheaper plan" in line]
    assert len(warned) == 1

    release = ["release", config, "--data", private, "--shortlist", shortlist]
    first = run(*release, "--out", tmp_path / "first")
    assert first.returncode == 0
    assert [line for line in first.stderr.splitlines() if "The rehearsal found a cheaper plan" in line] == warned
    assert f"epsilon = {proposal['epsilon']:.7g}"[:12] in warned[0]
    assert f"rehearse {config} --data PUBLIC_FILE --out {out} --adopt" in warned[0]

    adopted = run(*rehearse, "--adopt")
    assert adopted.returncode == 0
    assert "Adopted the proposal:" in adopted.stdout
    assert f"{shortlist} fits the configuration." in words(adopted.stdout)
    assert "- The search finds no table in" in words(adopted.stdout)
    cheap = load_spec(config).plan.total.epsilon
    assert float(cheap) == pytest.approx(proposal["epsilon"], abs=1e-9)
    assert cheap < dear
    second = run(*release, "--out", tmp_path / "second")
    assert second.returncode in (0, 3)
    assert "found a cheaper plan" not in second.stderr
    assert "This is an estimate from the rehearsal on public data" in words(second.stdout)

    again = run(*rehearse, "--adopt")  # nothing is left to do, and nothing is done
    assert again.returncode == 0
    assert "was adopted before" in words(again.stdout)
    assert load_spec(config).plan.total.epsilon == cheap
    without = run(*rehearse)
    assert without.returncode == 2
    assert "choose another folder" in words(without.stderr)

    acceptance = tmp_path / "acceptance.toml"
    (named,) = NOT_PROMISED.values()
    (plain,) = NOT_PROMISED  # without it the rehearsal found something that nobody says is known
    acceptance.write_text(acceptance.read_text().replace(named, plain))
    refused, told = run(*release, "--out", tmp_path / "third"), run(*rehearse, "--adopt")
    assert (refused.returncode, told.returncode) == (2, 0)
    assert f"`release` refuses {shortlist}" in words(told.stdout)
    assert f"{shortlist} fits it." not in words(told.stdout)
    assert "".join(refused.stderr.split()) in "".join(told.stdout.split())


@pytest.mark.slow
def test_a_rehearsal_that_was_stopped_adopts_nothing(tmp_path: Path) -> None:
    """Of the births, whose attempts take longer than the shortest time that can be given."""
    for folder in ("configs", "acceptance"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    config, data = tmp_path / "configs" / "births.toml", ROOT / "public_data" / "births_surrogate.csv.gz"
    before = config.read_text()
    found = run(
        "rehearse", config, "--data", data, "--out", tmp_path / "trial", "--minutes", "0.01", "--copies", "0", "--adopt"
    )
    assert found.returncode in (1, 3)
    assert "The command did not change" in words(found.stdout)
    assert config.read_text() == before


def test_lost_pairs_are_named_once_and_a_release_takes_the_shortlist(tmp_path: Path) -> None:
    """The command does what the refusal says: the pairs stand in [not_promised] beside the old ones, and comments stay."""
    config, acceptance, shortlist = write_config(tmp_path), tmp_path / "acceptance.toml", tmp_path / "shortlist.toml"
    acceptance.write_text("# agreed in May\n" + acceptance.read_text())
    spec = load_spec(config)
    verdict = VerdictTable(
        judged=judged_digest(spec.tables),
        hang_together=True,
        independent_columns_pass=False,
        pairs_off_if_independent=0.5,
        lost=("face:year",),
    )
    shortlist.write_text(shortlist_text("Coins", [spec.space[0].describe()], verdict=verdict))
    with pytest.raises(SpecError, match="lost the association of 1 pair of columns"):
        narrowed(spec, shortlist)
    assert accept_lost(config, shortlist) == (acceptance, ("face:year",))
    after = load_spec(config)
    assert (after.not_promised.pairs, after.not_promised.why) == (("face:year",), LOST_WHY)
    assert acceptance.read_text().startswith("# agreed in May\n")
    assert len(narrowed(after, shortlist).space) == 1
    once = acceptance.read_text()
    neighbour, own = tmp_path / "neighbour.toml", tmp_path / "own.toml"
    own.write_text(once)
    neighbour.write_text(f'extends = "{config.name}"\ntitle = "Other"\n')
    acceptance.write_text(once.replace('["face:year"]', "[]"))
    with pytest.raises(InputError, match=r"neighbour\.toml has the same acceptance file"):
        accept_lost(config, shortlist)
    neighbour.write_text(f'extends = "{config.name}"\nacceptance = "own.toml"\ntitle = "Other"\n')
    acceptance.write_text(once.replace('["face:year"]', "[\n  # asked in May\n]"))
    assert accept_lost(config, shortlist)[1] == ("face:year",)
    assert "# asked in May" in acceptance.read_text()
    assert load_spec(config).not_promised == after.not_promised
    acceptance.write_text(once)
    written = acceptance.read_bytes()
    assert accept_lost(config, shortlist)[1] == ()
    assert acceptance.read_bytes() == written
    acceptance.write_text(acceptance.read_text().replace("threshold = 0.9", "threshold = 0.8").replace('"face:year"', '"a:b"'))
    acceptance.write_text(acceptance.read_text().replace('pairs = ["a:b"]\n', "pairs = []\n"))
    assert accept_lost(config, shortlist)[1] == ()  # of other thresholds
