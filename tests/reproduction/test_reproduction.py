"""The sources, reproduced: the page is what the command writes, and ours is what is printed but for the known errors."""

from __future__ import annotations

import math
import re

import pytest

from synthrelease.cli.specifying import plan
from synthrelease.criteria.marginals import RelativeMarginalError
from synthrelease.privacy.noise import laplace_figure
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.reproduction.experiments import EXPERIMENTS, TABLES, page
from tests.reproduction.tables import FORMULAS, budget, printed, sampling, strata, swapping

PAGE = ROOT / "docs" / "sources.md"


def section(name: str) -> str:
    return page([name]).strip()


@pytest.mark.parametrize("name", FORMULAS)
def test_a_table_of_the_page_is_what_the_command_writes(name: str) -> None:
    assert section(name) in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_of_the_page_is_what_the_command_writes(name: str) -> None:
    """The families take most of the time: a test of the nightly run (tests/long.py). What a network learns depends on how a
    processor rounds, so the errors of networks are not compared.
    """
    lines = [line for line in section(name).splitlines() if not line.startswith(("| DPCTGAN", "| PATECTGAN"))]
    assert set(lines) <= set(PAGE.read_text(encoding="utf-8").splitlines())


def test_privbayes_alone_meets_all_criteria_of_the_families_of_the_paper() -> None:
    """The finding of section 4.10, in the table of the page, which the nightly run makes again."""
    lines = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    met = {line[0]: line[-1] for line in lines if line[0] in printed()["families"]}
    assert list(met) == list(printed()["families"])
    assert {name for name, count in met.items() if count == "9 of 9"} == {name for name in met if name.startswith("PrivBayes")}


def test_the_page_has_every_table_and_every_error() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [f"--only {name}`" in text for name in TABLES] == [True] * len(TABLES)
    assert not any("|" in cell for error in printed()["errors"]["rows"] for cell in error)  # it would part a cell of the table
    for error in printed()["errors"]["rows"]:
        assert f"| {' | '.join(error)} |" in text


def test_an_error_names_statements_and_pages_that_are_there() -> None:
    theory = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    statements = set(re.findall(r"^### \w+ ([\d.]+\w?) ", theory, re.MULTILINE))
    for *_, here in printed()["errors"]["rows"]:
        assert set(re.findall(r"theory ([\d.]+\d)", here)) <= statements
        assert all((ROOT / path).is_file() for path in re.findall(r"(?:docs|configs)/[\w/.-]+\.(?:md|toml)", here))


def test_the_census_of_2020_and_of_1940_by_swapping_are_printed_to_the_last_digit() -> None:
    rows = swapping()
    assert len(rows) == 7
    pairs = [(row[place], row[place + 1]) for row in rows for place in range(3, 11, 2)]
    assert [text for text, _ in pairs if text] == [ours for text, ours in pairs if text]
    assert sum(bool(text) for text, _ in pairs) == 6 * 2 + 4


def test_9_98_is_reproduced_line_by_line() -> None:
    rows = budget()
    assert [printed_text for _, printed_text, _ in rows] == [ours for _, _, ours in rows]
    assert rows[-1] == ["selection", "9.98", "9.98"]


def test_one_value_of_the_running_example_is_an_error_of_the_source() -> None:
    cells = [cell.split(" / ") for row in strata() for cell in row[1:] if cell]
    assert [pair for pair in cells if pair[0] != pair[1]] == [["1000", "1423"]]


def test_the_bound_of_a_sample_is_printed_up_to_its_rounding() -> None:
    """0.49999 is printed as 0.499."""
    for _, share, ours, bound, our_bound, _ in sampling():
        assert abs(float(share) - float(ours)) <= 0.001
        assert bound == our_bound or (bound, our_bound[:4]) == ("N/A", "none")


def test_a_ratio_at_the_clip_passes_by_its_noise_as_often_as_is_said() -> None:
    """Against draws of the noise that a figure gets: p of Proposition 6, and T' for a p."""
    criterion = RelativeMarginalError(
        kind="relative_marginal_error", name="ratio", threshold=1.4, epsilon="0.3", clip=2
    )  # fmt: skip
    sensitivity = 2 - 51 / 27  # of 50 rows and 1: from 26 to 27 a ratio of 51/26 falls to 51/27; below 26 it is clipped at 2
    assert criterion.threshold_passed_by_noise(criterion.passed_by_noise(50), 50) == pytest.approx(1.4)
    scale = max(51 / 26 - 51 / 27, 2 - 51 / 26, sensitivity - (2 - 51 / 26)) / 0.3
    assert criterion.passed_by_noise(50) == pytest.approx(math.exp(-0.6 / scale) / 2)
    entropy = SeededEntropy(5, 1)
    draws = [
        laplace_figure(2.0, sensitivity=0.3 * scale, epsilon=criterion.epsilon, entropy=entropy).value for _ in range(4000)
    ]
    share = sum(value <= 1.4 for value in draws) / len(draws)
    assert share == pytest.approx(criterion.passed_by_noise(50), abs=5 * math.sqrt(0.04 / len(draws)))


def test_a_plan_says_how_often_a_ratio_at_the_clip_passes_by_noise(capsys: pytest.CaptureFixture[str]) -> None:
    """Each figure decides by itself in the paper's release; under a joint test the noise of a figure decides nothing."""
    plan(ROOT / "configs" / "births-paper.toml")
    said = " ".join(capsys.readouterr().out.split())
    assert "passes the threshold of 1.4 with probability 4.2%, if the smallest bin has 50 rows" in said
    assert "With a threshold of 1.442, this probability is 5%" in said
    plan(ROOT / "configs" / "births-frontier.toml")
    assert "T' =" not in capsys.readouterr().out


def test_the_paper_s_release_has_its_questions_and_a_reason_for_every_epsilon() -> None:
    """Section 1: contingency tables, means and medians by group, regressions. Section 4.4.4: why each epsilon."""
    spec = load_spec(ROOT / "configs" / "births-paper.toml")
    assert all(criterion.reason for criterion in spec.criteria if criterion.epsilon)
    assert spec.budget.reason
    kinds = {"mean" if question.mean else question.query.split()[0] for question in spec.questions}
    assert {"mean", "median", "slope"} < kinds
    assert any(question.given for question in spec.questions)
    medians = [each for each in load_spec(ROOT / "configs" / "births.toml").criteria if each.kind == "conditional_median"]
    assert [criterion.within for criterion in medians] == [0]
