"""Whole rehearsals of the tiny release in this process, and the files that they leave."""

from __future__ import annotations

import html
import json
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from synthrelease.errors import InputError, OutputError
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.selection import FiniteLaw, SelectionRule
from synthrelease.spec.load import load_spec
from synthrelease.spec.requests import RehearsalRequest
from synthrelease.spec.shortlist import narrowed
from synthrelease.studio.drafting.edits import why_not
from synthrelease.studio.rehearsal.advice import Outlook, total_epsilon
from synthrelease.studio.rehearsal.attempts import Standing, clopper_pearson
from synthrelease.studio.rehearsal.rehearse import BUDGET_ATTEMPTS, Rehearsal, chunks, rehearse
from synthrelease.studio.rehearsal.report import describe, document, page, statistic, write_report
from synthrelease.studio.rehearsal.utility import CopyComparison
from synthrelease.studio.rehearsal.words import epsilon_text, generator_words, outlook_words, proposal_words, proposed_plan
from tests.helpers.tiny import NOT_PROMISED, write_config, write_data

TITLE = "<b>Coins</b> & \"more\" 'of' them"
CRITERION = "<i>mar & ginals</i> $_$"
SPACE = {
    **NOT_PROMISED,
    'title = "Coins"': f"title = {json.dumps(TITLE)}",
    'name = "marginals"': f'name = "{CRITERION}"',
    "degree = 1\n": "degree = [1, 2]\n",
    "epsilon_split = 0.5": "epsilon_split = [0.3, 0.7]",
    "generation = 10": "generation = 1",
}
HOPELESS = {"threshold = 0.9": "threshold = 0.0001", "generation = 10": "generation = 0.1"}
IMPOSSIBLE = {
    'kind = "minimum_count"\nminimum_count = 2': 'kind = "minimum_count"\nminimum_count = 500',
    "rows = 400": 'rows = "exact"',
}
BINDS, CAN_BE = "Which criterion rejects tables", "The range of each criterion value"
BUDGET = "Budget and rounds"
NOISE, PAIRS = "Noise and thresholds", "Pairs that no criterion tests"
GOAL = {"keep": 2, "width": 0.6}
NOISE_LEVEL = 0.05


def rehearsed(
    folder: Path, changes: Mapping[str, str], out: str = "out", progress: Any = None, **options: Any
) -> tuple[Rehearsal, Path]:
    config, given = write_config(folder, changes), {**GOAL, "seed": 4, "copies": 2} | options
    asked = RehearsalRequest(config=config, data=str(write_data(folder)), out=folder / out, **given)
    return rehearse(load_spec(config), asked, **({"progress": progress} if progress else {})), folder / out


@pytest.fixture(scope="module")
def coins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rehearsal, Path]:
    found, out = rehearsed(tmp_path_factory.mktemp("coins"), SPACE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a picture that does not fit its frame warns
        write_report(found, out, NOISE_LEVEL)
    return found, out


@pytest.fixture(scope="module")
def hopeless(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rehearsal, Path]:
    return rehearsed(tmp_path_factory.mktemp("hopeless"), HOPELESS)


FAMILIES = NOT_PROMISED | {
    "[[projections]]": '[[generators]]\nfamily = "marginals"\ntables = ["face", "face:year"]\n\n[[projections]]'
}


def test_of_each_family_the_best_configuration_is_compared(tmp_path: Path) -> None:
    """Configuration 0 of one family, and 1 and 2 of another, have 3, 4 and 9 of 12 rounds accepted."""
    found, _ = rehearsed(tmp_path, FAMILIES, width=0.9)
    assert [configuration.generator.family for configuration in found.spec.space] == ["privbayes", "marginals", "marginals"]
    counts = (3, 4, 9)
    estimates = tuple(clopper_pearson(accepted, 12) for accepted in counts)
    race = replace(found.race, estimates=estimates, chances=tuple(accepted / 12 for accepted in counts))
    compared = replace(found, race=race)
    sentences = generator_words(compared)
    assert sentences == [
        "The best configuration of each family was accepted: marginals in 75% of 12 attempts (43% to 95%); privbayes in 25% of "
        "12 attempts (5.5% to 57%). If intervals overlap, no family is clearly best."
    ]
    assert document(compared)["words"]["generators"] == sentences
    assert html.escape(sentences[0]) in page(compared, NOISE_LEVEL)
    untried = (estimates[0], *(clopper_pearson(0, 0) for _ in range(2)))
    assert generator_words(replace(found, race=replace(race, estimates=untried))) == []


def test_with_one_family_none_are_compared(coins: tuple[Rehearsal, Path]) -> None:
    assert generator_words(coins[0]) == []


class Page(HTMLParser):
    """Checks that tags nest, and collects what a test asks about."""

    VOID = {"meta", "link", "br", "img", "hr", "input"}

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[list[str]] = []
        self.headings: list[str] = []  # for every row, the heading that it stands under
        self.texts: dict[str, str] = {}
        self.heading = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
            self.headings.append(self.heading)
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise ValueError(f"</{tag}> at {self.getpos()} closes something else")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("h2", "h3"):
            self.heading = data
        for tag in set(self.open):
            self.texts[tag] = self.texts.get(tag, "") + data
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1][-1] += data

    def row(self, first: str, table: str = "") -> list[str]:
        """The row that begins so, in the table under this heading; in the only one that has it, where none is named."""
        inside = [cells for heading, cells in zip(self.headings, self.cells, strict=True) if table in heading]
        (found,) = [cells for cells in inside if cells[0] == first]
        return found


def read(out: Path) -> Page:
    return Page((out / "report.html").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_rehearsal_leaves_its_files_and_nothing_else(coins: tuple[Rehearsal, Path]) -> None:
    found, out = coins
    assert {path.name for path in out.iterdir()} == {"attempts.sqlite", "rehearsal.json", "report.html", "shortlist.toml"}
    assert json.loads((out / "rehearsal.json").read_text()) == json.loads(json.dumps(document(found)))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_document_in_another_folder(coins: tuple[Rehearsal, Path], tmp_path: Path) -> None:
    found, out = coins
    again, there = rehearsed(tmp_path, SPACE)
    write_report(again, there, NOISE_LEVEL)
    for name in ("rehearsal.json", "shortlist.toml"):
        assert (there / name).read_bytes() == (out / name).read_bytes()
    assert found.n_attempts > 12
    assert rehearsed(tmp_path, SPACE, "other", seed=5)[0].results != again.results


@pytest.mark.slow
def test_a_rehearsal_that_is_called_again_runs_no_attempt_twice(
    coins: tuple[Rehearsal, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a seed it takes the kept one. Even the times are those of the first call."""

    def refuse(*arguments: object) -> None:
        raise ValueError("no attempt is missing")

    found, out = coins
    monkeypatch.setattr("synthrelease.studio.rehearsal.rehearse.run_attempts", refuse)
    again, _ = rehearsed(out.parent, SPACE, seed=None)
    assert again.results == found.results
    assert document(again) == document(found)


@pytest.mark.slow
def test_the_document_says_what_the_rehearsal_found(coins: tuple[Rehearsal, Path]) -> None:
    found, out = coins
    read_back = json.loads((out / "rehearsal.json").read_text())
    assert (read_back["title"], read_back["seed"], read_back["n_rows"], read_back["complete"]) == (TITLE, 4, 400, True)
    assert read_back["attempts"] == found.n_attempts == sum(entry["trials"] for entry in read_back["configurations"])
    assert [entry["index"] for entry in read_back["configurations"] if entry["shortlisted"]] == list(found.shortlist)
    assert [criterion["name"] for criterion in read_back["criteria"]] == [CRITERION, "face privacy"]
    generations = [budget["generation"] for budget in read_back["budgets"]]
    assert generations == [0.125, 0.25, 0.375, 0.5, 0.75, 1.0]  # the quarters, and what is beside the cheapest
    totals = [float(total_epsilon(found.spec, Fraction(generation))) for generation in generations]
    assert [budget["total"] for budget in read_back["budgets"]] == totals
    assert [budget["acceptance"]["trials"] for budget in read_back["budgets"][:5]] == [2 * BUDGET_ATTEMPTS] * 5
    assert [entry["configuration"] for entry in read_back["copies"]["figures"]] == list(found.shortlist)


def test_a_figure_that_is_0_but_for_rounding_is_shown_as_0() -> None:
    assert [statistic(value) for value in (1.48e-15, 0.12345, math.nan, None)] == ["0", "0.123", "", ""]


@pytest.mark.slow
def test_the_shortlist_is_one_that_a_release_can_use(coins: tuple[Rehearsal, Path]) -> None:
    found, out = coins
    assert len(found.shortlist) == 2
    assert narrowed(found.spec, out / "shortlist.toml").space.shortlist == found.shortlist


def test_the_page_needs_no_other_file_and_no_network(coins: tuple[Rehearsal, Path]) -> None:
    report = read(coins[1])
    assert not {tag for tag, _ in report.tags} & {"script", "link", "iframe", "img", "object", "embed", "base"}
    links = [value for _, attributes in report.tags for name, value in attributes.items() if name in ("href", "xlink:href")]
    assert all(link.startswith("#") for link in links)
    attributes = {name for _, found in report.tags for name in found}
    assert not {name for name in attributes if name == "src" or name.startswith("on")}
    assert "@import" not in report.texts["style"]
    assert "url(" not in report.texts["style"].replace("url(#", "")


def test_the_tags_of_the_page_nest_and_every_table_is_rectangular(coins: tuple[Rehearsal, Path]) -> None:
    report = read(coins[1])
    assert report.open == []
    utility = ("Utility and risk, without noise", "Risk by group of persons")
    tables = ("The shortlist", BINDS, CAN_BE, PAIRS, NOISE, BUDGET, *utility)
    assert [tag for tag, _ in report.tags].count("table") == len(tables)
    widths = {
        heading: {len(row) for h, row in zip(report.headings, report.cells, strict=True) if h == heading} for heading in tables
    }
    assert widths == dict(zip(tables, [{6}, {8}, {9}, {7}, {6}, {8}, {6}, {10}], strict=True))
    with pytest.raises(ValueError, match="closes something else"):
        Page("<p><b>text</p></b>")


def test_every_picture_has_a_text_of_its_own_for_screen_readers(coins: tuple[Rehearsal, Path]) -> None:
    report = read(coins[1])
    pictures = [attributes for tag, attributes in report.tags if tag == "svg"]
    assert [picture["role"] for picture in pictures] == ["img"] * 2
    named = [str(picture["aria-labelledby"]).split() for picture in pictures]
    assert len({name for names in named for name in names}) == 4
    assert ("html", {"lang": "en"}) in report.tags
    ids = [attributes["id"] for _, attributes in report.tags if "id" in attributes]
    assert len(ids) == len(set(ids)) >= 4
    assert {name for names in named for name in names} <= set(ids)


def test_the_lines_of_the_advice_make_the_release_that_it_promises(coins: tuple[Rehearsal, Path], tmp_path: Path) -> None:
    """Pasted into the specification, in place of the lines about rounds and generation budget, they cost what is written."""
    found, out = coins
    (pasted,) = re.findall(r"<pre[^>]*>(.*?)</pre>", (out / "report.html").read_text(encoding="utf-8"), re.DOTALL)
    pasted = html.unescape(pasted)
    budget, selection = pasted.split("\n\n")
    changes = SPACE | {
        "generation = 10": budget.removeprefix("[budget]\n"),
        "stop_probability = 0.001\n": selection.split("\n", 1)[1],
    }
    spec = load_spec(write_config(tmp_path, changes))
    proposed = json.loads((out / "rehearsal.json").read_text())["proposal"]
    assert float(spec.plan.total.epsilon) == proposed["chosen"]["total"]
    assert proposed["chosen"]["total"] < float(found.spec.plan.total.epsilon)
    law = spec.selection_rule.rounds
    assert law is not None
    assert [[k, float(share)] for k, share in law.atoms] == proposed["chosen"]["law"]["atoms"]
    assert proposed["judgement"]["attempts"] == 10  # half of 18, as many of each configuration
    for text in proposal_words(found):
        assert text in " ".join(read(out).texts["p"].split())


def test_names_are_shown_as_text_however_they_are_written(coins: tuple[Rehearsal, Path]) -> None:
    report = read(coins[1])
    assert report.texts["h1"] == f"Rehearsal: {TITLE}"
    assert report.texts["title"].startswith(f"Rehearsal: {TITLE}")
    assert report.row(CRITERION, BINDS)[1] == "0.9"
    assert CRITERION in report.texts["svg"]
    assert "i" not in {tag for tag, _ in report.tags}


def test_no_figure_on_the_page_is_not_a_number(coins: tuple[Rehearsal, Path]) -> None:
    text = (coins[1] / "report.html").read_text(encoding="utf-8").lower()
    assert not {word for word in ("nan", "inf", "none") if f">{word}<" in text or f" {word} " in text.replace("none seen", "")}


def test_the_page_shows_the_figures_of_the_document(coins: tuple[Rehearsal, Path]) -> None:
    found, out = coins
    report = read(out)
    for place, c in enumerate(sorted(found.shortlist, key=lambda c: -found.race.estimates[c].share)):
        row = [cells for cells in report.cells if cells[0] == str(place + 1)][0]
        estimate = found.race.estimates[c]
        assert row[1] == describe(found.spec.space[c])
        assert (row[2], row[4]) == (f"{estimate.share:.0%}", str(estimate.trials))
    for one in found.budgets:
        assert report.row(f"{float(one.generation):g}", BUDGET)[1] == epsilon_text(one.total)
    assert "4 possible configurations" in " ".join(report.texts["li"].split())
    total = decimal_text(found.spec.plan.total.epsilon)
    assert f"{total} epsilon for the whole release" in " ".join(report.texts["li"].split())


def test_a_configuration_is_described_by_what_differs(coins: tuple[Rehearsal, Path]) -> None:
    assert describe(coins[0].spec.space[3]) == "privbayes, degree 2, epsilon split 0.7, minimum count 2"


def test_a_complete_rehearsal_does_not_call_itself_incomplete(coins: tuple[Rehearsal, Path]) -> None:
    assert "The rehearsal has not finished." not in read(coins[1]).texts["body"]


@pytest.mark.slow
def test_a_rehearsal_without_time_says_that_it_is_incomplete_and_goes_on_later(tmp_path: Path) -> None:
    found, out = rehearsed(tmp_path, SPACE, minutes=1e-9)
    write_report(found, out, NOISE_LEVEL)
    assert not found.complete
    assert found.n_attempts == 0
    assert read(out).open == []
    assert "The rehearsal has not finished." in read(out).texts["body"]
    assert json.loads((out / "rehearsal.json").read_text())["complete"] is False
    assert not (out / "shortlist.toml").exists()
    assert rehearsed(tmp_path, SPACE, copies=0)[0].complete


@pytest.mark.slow
def test_a_rehearsal_that_is_stopped_keeps_what_it_has_and_goes_on_to_the_same_end(
    coins: tuple[Rehearsal, Path], tmp_path: Path
) -> None:
    def stop(phase: str, done: int, total: int) -> None:
        if phase == "pilot" and done == 4:
            raise KeyboardInterrupt

    stopped, out = rehearsed(tmp_path, SPACE, progress=stop)
    write_report(stopped, out, NOISE_LEVEL)
    assert not stopped.complete
    assert stopped.n_attempts == 4
    assert "The rehearsal has not finished." in read(out).texts["body"]
    finished, _ = rehearsed(tmp_path, SPACE)
    assert document(finished) == document(coins[0])


@pytest.mark.slow
def test_an_empty_shortlist_removes_an_old_file_and_says_which_criterion_binds(hopeless: tuple[Rehearsal, Path]) -> None:
    found, out = hopeless
    (out / "shortlist.toml").write_text("of an earlier rehearsal with a lower target")
    write_report(found, out, NOISE_LEVEL)
    assert found.shortlist == ()
    assert found.race.standings[0] is not Standing.RUNNING
    assert not (out / "shortlist.toml").exists()
    report = read(out)
    assert "No configuration was accepted often enough for the shortlist." in report.texts["p"]
    assert report.row("marginals", BINDS)[3] == "100%"
    assert report.row("face privacy", BINDS)[3] == "0%"
    assert "Criterion values of the synthetic tables, divided" in report.texts["figcaption"]
    (entry,) = json.loads((out / "rehearsal.json").read_text())["configurations"]
    assert entry["rejected_by"] == {"marginals": entry["trials"]}


@pytest.mark.slow
def test_a_space_without_any_candidate_has_a_report_too(tmp_path: Path) -> None:
    found, out = rehearsed(tmp_path, IMPOSSIBLE)
    write_report(found, out, NOISE_LEVEL)
    report = read(out)
    assert report.open == []
    assert report.row("marginals", BINDS)[2:4] == ["", "100%"]
    assert "Criterion values of the candidates, divided by the thresholds" not in report.texts.get("svg", "")


@pytest.mark.slow
def test_a_zero_concentrated_space_is_told_apart(tmp_path: Path) -> None:
    """Its budget is rho, and its epsilon is one at a delta."""
    concentrated = {
        'family = "privbayes"\nflavour = "degree"': 'family = "pep"\nqueries = 6',
        "degree = 1\nepsilon_split = 0.5": "iterations = 3",
        "generation = 10\nlimit = 25": "generation = 1\nlimit = 25\ndelta = 1e-6",
        "stop_probability = 0.001": 'mode = "truncated_negative_binomial"\nstop_probability = 0.1',
    }
    found, out = rehearsed(tmp_path, concentrated)
    write_report(found, out, NOISE_LEVEL)
    shown = read(out)
    assert found.budgets
    assert ["generation rho", "total epsilon"] in [cells[:2] for cells in shown.cells]
    assert "epsilon for the whole release, at delta = 1e-06" in shown.texts["li"]


def test_an_endless_search_is_no_number_in_the_document(coins: tuple[Rehearsal, Path]) -> None:
    """With the stop probability 0 and a private fit that nothing passes, the expected number of rounds is infinite."""
    endless = replace(
        coins[0],
        outlook=Outlook(
            acceptance=0.0, expected_rounds=math.inf, typical_rounds=math.inf, nothing=0.0, nothing_high=0.0, fits=1, unlucky=0
        ),
    )
    assert json.loads(json.dumps(document(endless), allow_nan=False))["outlook"]["expected_rounds"] is None


@pytest.mark.slow
def test_a_report_that_cannot_be_written_is_a_clear_error(coins: tuple[Rehearsal, Path], tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OutputError) as caught:
        write_report(coins[0], tmp_path, NOISE_LEVEL)
    message = str(caught.value)
    assert message.startswith(f"Cannot write the report to {tmp_path} (")
    assert message.endswith("The results are kept in attempts.sqlite.")


@pytest.mark.slow
def test_the_page_is_the_same_but_for_times(coins: tuple[Rehearsal, Path]) -> None:
    """With all times set to 1 s, and again from the rehearsal that was read back."""
    found, _ = coins
    still = replace(found, results=tuple(tuple(replace(one, seconds=1.0) for one in some) for some in found.results))
    again, _ = rehearsed(coins[1].parent, SPACE, seed=None)
    still_again = replace(again, results=tuple(tuple(replace(one, seconds=1.0) for one in some) for some in again.results))
    assert page(still, NOISE_LEVEL) == page(still_again, NOISE_LEVEL)


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("do not lose me")
    with pytest.raises(InputError) as caught:
        rehearsed(tmp_path, SPACE)
    assert str(caught.value) == (
        f"{tmp_path / 'out'} contains files of something else, such as 'thesis.tex'. Choose a new folder for --out."
    )
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]


def test_a_file_in_the_place_of_the_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OutputError, match="Cannot create the folder"):
        rehearsed(tmp_path, SPACE)


def test_results_of_another_specification_are_not_mixed_in(coins: tuple[Rehearsal, Path], tmp_path: Path) -> None:
    rehearsed(tmp_path, SPACE, minutes=1e-9)
    with pytest.raises(InputError, match=r"contains the results of another rehearsal \(different specification\)"):
        rehearsed(tmp_path, SPACE | {"threshold = 0.9": "threshold = 0.8"})


def test_unknown_quasi_identifiers_are_refused_with_the_column_that_is_meant(coins: tuple[Rehearsal, Path]) -> None:
    with pytest.raises(InputError) as caught:
        CopyComparison.of(coins[0].spec, 2, ["face", "yaer"])
    assert str(caught.value) == ("--quasi-identifiers: 'yaer' is not one of 'face', 'year'. Did you mean 'year'?")


def test_attempts_are_handed_out_in_groups_that_share_their_private_fit() -> None:
    attempts = [(c, number) for number in range(3) for c in range(100)]
    groups = chunks(attempts)
    assert sorted(attempt for group in groups for attempt in group) == sorted(attempts)
    assert {len({number for _, number in group}) for group in groups} == {1}
    assert max(map(len, groups)) == 8
    assert [len(group) for group in chunks(attempts[:10])] == [1] * 10  # few attempts are spread over all workers


def test_the_planned_budget_is_that_of_the_race(coins: tuple[Rehearsal, Path]) -> None:
    found, _ = coins
    (planned,) = [one for one in found.budgets if one.generation == Fraction(1)]
    assert planned.acceptance.trials == sum(len(found.results[c]) for c in found.shortlist)
    assert planned.acceptance.successes == sum(one.accepted for c in found.shortlist for one in found.results[c])


def test_the_report_and_the_document_name_where_errors_are(coins: tuple[Rehearsal, Path]) -> None:
    found, out = coins
    report, look = read(out), found.look
    assert look is not None
    (entry, _) = json.loads((out / "rehearsal.json").read_text())["look"]["criteria"]
    offender = look.criteria[0].offender
    assert offender is not None
    assert entry["offender"] == {"where": offender.where, "released": offender.released, "original": offender.original}
    units = "share of the rows"
    assert report.row(CRITERION, BINDS)[4:] == [offender.where, offender.released, offender.original, units]
    assert entry["yardstick"]["perfect"] == look.criteria[0].yardstick.perfect
    assert "a table of independent columns meets this threshold" in report.texts["li"]  # the threshold is 0.9
    assert [pair["columns"] for pair in json.loads((out / "rehearsal.json").read_text())["look"]["unguarded_pairs"]] == [
        list(pair.columns) for pair in look.pairs
    ]


def test_the_words_say_why_a_mean_number_of_rounds_is_large(coins: tuple[Rehearsal, Path]) -> None:
    unlucky = Outlook(
        acceptance=0.57, expected_rounds=251.6, typical_rounds=1.7, nothing=0.2, nothing_high=0.2, fits=12, unlucky=3
    )
    text = " ".join(outlook_words(replace(coins[0], outlook=unlucky)))
    assert "Half of all releases need about 1.7 rounds or fewer; the mean is 252" in text
    assert "With 3 of the 12 fits in this rehearsal hardly any round is accepted" in text
    assert "To make this less likely: " in text
    lucky = replace(unlucky, expected_rounds=1.2, unlucky=0)
    price, rounds = outlook_words(replace(coins[0], outlook=lucky))
    assert rounds == "Usually the first or second round is accepted."
    total = decimal_text(coins[0].spec.plan.total.epsilon)
    assert price == (
        f"With the current settings, a release from this shortlist costs epsilon = {total}. The search finds no acceptable "
        "table in 20% of the releases. The budget is spent in these cases, too."
    )
    few, _ = outlook_words(replace(coins[0], outlook=replace(lucky, nothing=1e-12, nothing_high=0.1425)))
    assert "no acceptable table in under 0.1% of the releases (at most 14% by a 95% interval)." in few
    one_round = replace(
        coins[0], spec=replace(coins[0].spec, selection_rule=SelectionRule(rounds=FiniteLaw.of({1: Fraction(1)})))
    )
    assert outlook_words(replace(one_round, outlook=lucky))[1:] == ["The search has one round."]


def judged_as(found: Rehearsal, nothing: float, nothing_high: float) -> Rehearsal:
    """The same rehearsal with another outcome of the fresh attempts."""
    assert found.proposal is not None
    assert found.proposal.judgement is not None
    judgement = replace(found.proposal.judgement, nothing=nothing, nothing_high=nothing_high)
    return replace(found, proposal=replace(found.proposal, judgement=judgement))


def test_a_plan_that_fresh_attempts_contradict_is_neither_called_rare_to_fail_nor_adopted(
    coins: tuple[Rehearsal, Path],
) -> None:
    """The attempts that chose the plan say 5% at most; those that judge it say 14%."""
    found = coins[0]
    text = " ".join(proposal_words(judged_as(found, 0.14, 0.3)))
    assert "This plan ends without a table in 14% of the releases (at most 30% by a 95% interval)." in text
    assert "This share is above the 5% of --nothing" in text
    assert text.count("5%") - text.count("95%") == 1  # as what was asked for alone
    assert "finds no table in 14% of releases, above the 5.0% of --nothing" in why_not(judged_as(found, 0.14, 0.3))
    assert proposed_plan(judged_as(found, 0.14, 0.3)) is None
    doubtful = judged_as(found, 0.04, 0.3)
    assert "within the 5% of --nothing, but its interval is not" in " ".join(proposal_words(doubtful))
    assert why_not(doubtful) == ""
    assert proposed_plan(doubtful) is not None
