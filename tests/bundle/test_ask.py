"""ask.html answers as `estimate` does, from the same tables, and holds nothing that is not public."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tomllib
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthrelease.answers.estimates import estimate
from synthrelease.answers.words import Term
from synthrelease.bundle.ask import ask_files, data_of
from synthrelease.bundle.card.numbers import FOLDER
from synthrelease.bundle.verify import verify_bundle, verify_files
from synthrelease.data.questions import QUANTILES
from synthrelease.errors import InputError
from synthrelease.privacy.charges import NUMBER_OF_ROWS, Charge
from synthrelease.published import PublishedRelease, load
from synthrelease.published.charges import DomainPart
from synthrelease.published.document import read_strictly
from synthrelease.published.folder import Measurements
from synthrelease.published.options import DesignPart
from synthrelease.published.table import read_csv
from synthrelease.published.verify.checks import read_files
from synthrelease.settings.card import LANGUAGES
from tests.answers.test_estimable import ALLOWED, LINKED
from tests.answers.test_estimate import TABLE, release
from tests.helpers.cards import rich_bundle
from tests.helpers.forgeries import problems, resealed
from tests.helpers.page_answers import SCRIPT, page_answers, random_questions, with_counts, with_gaussian_noise
from tests.helpers.published import category_column, integer_column, noisy_tables, published
from tests.helpers.tiny import CONFIG, write_measured_release

MEASURED = ("abd", "ac", "bc", "cg", "abc", "g")
_NUMBERS = {
    "estimate": "estimate",
    "low": "low",
    "high": "high",
    "binned_low": "binnedLow",
    "binned_high": "binnedHigh",
    "population_low": "populationLow",
    "population_high": "populationHigh",
    "population_binned_low": "populationBinnedLow",
    "population_binned_high": "populationBinnedHigh",
}
_ROWS = {"rows": "rows", "rows_low": "rowsLow", "rows_high": "rowsHigh"}


def _drawn(way: str, n: int) -> PublishedRelease:
    """A release with rows that were drawn from more of them, whose number was counted with noise, or stated."""
    made = release(TABLE, MEASURED, Fraction(1, 5), np.random.default_rng(2))
    margin = 40 if way == "counted" else None
    counting = Charge(name=NUMBER_OF_ROWS, epsilon=Fraction(1, 10), because="a test")
    charges = Charge(name="release", epsilon=Fraction(1, 10), because="a test", parts=(counting,))
    domain = DomainPart(way=way, file_rows=n, margin=margin, shortfall="1/100" if margin else None, missing_values=[])
    return replace(made, domain=domain, charges=charges if way == "counted" else made.charges)


def _surveyed(**design: Any) -> PublishedRelease:
    made = release(TABLE, MEASURED, Fraction(1, 5), np.random.default_rng(2))
    part = DesignPart(**{"weight": None, "strata": [], "clusters": "tract", "effect": None, "source": "table 1"} | design)
    return replace(made, design=part, population=100_000)


WIDE = integer_column("w", [0, 5, 20, 100])
KINDS = {
    "laplace": lambda: release(TABLE, MEASURED, Fraction(1, 5), np.random.default_rng(1)),
    "rules": lambda: release(ALLOWED, ("abd", "ac", "bc", "c", "b"), Fraction(1, 10), np.random.default_rng(4), rules=LINKED),
    "chosen among several": lambda: release(TABLE, MEASURED, Fraction(1, 5), np.random.default_rng(3), times=2.5),
    "gaussian": lambda: with_gaussian_noise(
        release(TABLE, MEASURED), TABLE, MEASURED, Fraction(1, 200), np.random.default_rng(5)
    ),
    "little gaussian noise": lambda: with_gaussian_noise(
        release(TABLE, MEASURED), TABLE, MEASURED, Fraction(2, 3), np.random.default_rng(6)
    ),
    "counted rows": lambda: _drawn("counted", 4000),
    "stated rows": lambda: _drawn("stated", 4000),
    "merged bins": lambda: _merged(),
    "clusters": lambda: _surveyed(),
    "effects": lambda: _surveyed(effect={"a": 2.5, "b": 1.5}),
}


def _merged() -> PublishedRelease:
    made = release(TABLE, MEASURED, Fraction(1, 5), np.random.default_rng(7))
    assert made.measurements is not None
    return replace(made, measurements=replace(made.measurements, tables=with_counts(made.measurements.tables)))


@pytest.mark.parametrize("kind", ["laplace", "rules", "gaussian", "counted rows", "clusters"])
def test_the_page_answers_as_the_command_does(kind: str) -> None:
    assert compared(KINDS[kind](), 20, seed=1) > 100


@pytest.mark.parametrize("kind", KINDS)
def test_two_thousand_questions_have_the_same_answers(kind: str) -> None:
    assert compared(KINDS[kind](), 200, seed=2) > 1000


def test_intervals_that_hold_together_share_the_risk() -> None:
    """A share has an interval of its rows as well: two for each group."""
    made = KINDS["laplace"]()
    question = {"kind": "share", "met": {"column": 2, "bins": [1]}, "by": 0}
    [answer] = page_answers(data_of(made, made.counts), [question], among=6)
    terms = estimate(made, "share c == 1 by a", together=True).terms
    assert [term["low"] for term in answer["terms"]] == pytest.approx([term.low for term in terms], rel=1e-7)


FAULTS = [("ALLOWANCE = 1e-5", "ALLOWANCE = 0"), ("repeat > 0", "repeat > 9"), ("length - 1] = part", "length - 1] = 0")]


@pytest.mark.parametrize("fault", FAULTS, ids=["allowance", "repeats", "counted rows"])
def test_a_page_that_computes_otherwise_is_found(fault: tuple[str, str], tmp_path: Path) -> None:
    """Three faults that change the fifth digit at most."""
    script, text = tmp_path / "answers.js", SCRIPT.read_text(encoding="utf-8")
    assert text.count(fault[0]) == 1
    script.write_text(text.replace(*fault), encoding="utf-8")
    with pytest.raises(AssertionError):
        compared(_drawn("counted", 40_000), 20, seed=1, script=script)


def compared(made: PublishedRelease, n: int, seed: int, script: Path = SCRIPT) -> int:
    """Ask both the same questions, and return how many numbers agreed: those of intervals to 1e-7, those of rows exactly."""
    data = data_of(made, made.counts)
    questions = random_questions(data, n, np.random.default_rng(seed))
    n_numbers = 0
    for question, answer in zip(questions, page_answers(data, questions, script=script), strict=True):
        if not answer["terms"]:
            with pytest.raises(InputError, match="the rules allow no row in this group"):
                estimate(made, answer["text"])
            continue
        terms = estimate(made, answer["text"]).terms
        groups = [""] if question.get("by") is None else data["columns"][question["by"]]["labels"]
        assert [term.group for term in terms] == [groups[term["place"]] for term in answer["terms"]], answer["text"]
        for term, computed in zip(terms, answer["terms"], strict=True):
            n_numbers += _compared(data, question, term, computed)
    return n_numbers


def _compared(data: dict[str, Any], question: dict[str, Any], term: Term, computed: dict[str, Any]) -> int:
    fields = asdict(term)
    assert computed["estimable"] == term.estimable, (question, term, computed)
    if question["kind"] in QUANTILES:
        labels = data["columns"][question["column"]]["labels"]
        assert (computed["bins"] and tuple(labels[bin_] for bin_ in computed["bins"])) == term.bins, (question, term)
    for name, key in _NUMBERS.items():
        expected = fields[name]
        assert (computed.get(key) is None) == (expected is None), (question, name, term, computed)
        assert expected is None or computed[key] == pytest.approx(expected, rel=1e-7, abs=1e-12), (question, name, term)
    for name, key in _ROWS.items():
        assert computed.get(key) == fields[name], (question, name, term)
    return sum(fields[name] is not None for name in (*_NUMBERS, *_ROWS))


def test_the_median_of_wide_bins_is_told_where_its_bins_are_less_than_half_of_the_steps() -> None:
    """Of nine bins the median may be four steps away and no more."""
    column = integer_column("x", list(range(10)))
    for rows_of_a_bin, told in ((300, True), (3, False)):
        table = np.repeat(np.arange(9), rows_of_a_bin)[:, None]
        found = noisy_tables((column,), table, ["x"], Fraction(1, 5))
        made = replace(published((column,), table, ()), measurements=Measurements(tables=found, times=1.0))
        [term] = estimate(made, "median x").terms
        assert term.estimable == told
        assert (term.bins is not None) == told


def test_labels_that_have_no_words_have_no_command() -> None:
    """`'` and `"` in one label cannot be quoted."""
    column = category_column("d", {'it\'s "x"': ["x"], "y's": ["y"]})
    table = np.repeat([[0], [1]], 500, axis=0)
    made = replace(
        published((column,), table, ()),
        measurements=Measurements(tables=noisy_tables((column,), table, ["d"], Fraction(1, 5)), times=1.0),
    )
    questions = [{"kind": "share", "met": {"column": 0, "bins": [bin_]}} for bin_ in (0, 1)]
    texts = [answer["text"] for answer in page_answers(data_of(made, made.counts), questions)]
    assert texts == [None, 'share d == "y\'s"']
    assert estimate(made, texts[1]).terms[0].estimable


# The page as a file of the folder.

QUESTIONS = (
    "mean year",
    "mean year by face",
    "slope year on face == 'tail'",
    "slope year on face == 'head' where year < 7",
    "mean year: face == 'head' against face == 'tail'",
)
MODELS = {
    "limit = 25": "limit = 60\nmodels = 20",
    "\n[selection]": "".join(f'\n[[models]]\nquestion = "{question}"\n' for question in QUESTIONS) + "\n[selection]",
}
HEBREW = {
    "[[generators]]": '[card]\ncontact = "office@example.org"\nhe.title = "מטבעות"\nhe.columns.face = "צד"\n\n[[generators]]'
}
HOSTILE = "</script><script>document.title = 'run'</script><!--"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("asked")
    assert "[[generators]]" in CONFIG
    changes = {**HEBREW, **MODELS, 'kind = "category"': f'kind = "category"\ndescription = "{HOSTILE}"'}
    return write_measured_release(work, work / "release", changes)


def _data(page: str) -> dict[str, Any]:
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return dict(json.loads(text))


def test_the_page_is_in_the_folder_in_each_language_and_the_card_leads_to_it(folder: Path) -> None:
    files = read_files(folder)
    for card, page, language in (("README.html", "ask.html", "en"), ("README.he.html", "ask.he.html", "he")):
        assert f'<a href="{page}">' in files[card].decode().partition("<nav")[0]
        text = files[page].decode()
        assert f'<html lang="{language}" dir="{"rtl" if language == "he" else "ltr"}">' in text
        assert f'<a href="{card}">' in text
        assert _data(text)["titles"][0] == ("צד" if language == "he" else "face")
        assert _data(text)["contact"] == "office@example.org"
    assert verify_bundle(folder).passed


def test_the_same_release_gives_the_same_bytes_from_the_folder_alone(folder: Path) -> None:
    files = read_files(folder)
    document = read_strictly(files["release.json"])
    pages = ask_files(document, read_csv(files[document.csv], document.shape), files["measurements.json"])
    assert pages == {name: files[name] for name in ("ask.html", "ask.he.html")}
    release = load(folder)
    data = _data(files["ask.html"].decode())
    assert data == data_of(release, release.counts) | {name: data[name] for name in ("titles", "contact", "words")}


def test_what_was_measured_on_purpose_is_what_the_command_says(folder: Path) -> None:
    """Also the mean of a column of a regression among the rows of this regression, which nobody named."""
    release = load(folder)
    asked = {answer["question"]: answer for answer in data_of(release, release.counts)["measured"]}
    assert {*QUESTIONS, "mean year where year < 7"} == set(asked)
    for together, ends in ((False, "ends"), (True, "together")):
        for question, answer in asked.items():
            found = estimate(release, question, together=together)
            assert answer["reasons"] == list(found.not_a_sample)
            for term, shown in zip((*found.terms, *found.contrasts), answer["terms"], strict=True):
                assert (term.name, term.group, term.unit) == (shown["name"], shown["group"], shown["unit"])
                expected = [term.estimate, term.low, term.high, term.population_low, term.population_high]
                assert [shown["estimate"], *shown[ends]] == pytest.approx(expected, rel=1e-5)


def test_a_mean_on_the_page_is_the_one_that_was_measured_on_purpose(folder: Path) -> None:
    """As in `estimate`, which prefers it to noisy tables."""
    release = load(folder)
    questions: list[dict[str, Any]] = [{"kind": "mean", "column": 1}, {"kind": "mean", "column": 1, "by": 0}]
    for answer in page_answers(data_of(release, release.counts), questions):
        found = estimate(release, answer["text"])
        assert found.source == "noisy sums that were measured for this question"
        for term, shown in zip(found.terms, answer["terms"], strict=True):
            expected = [term.estimate, term.low, term.high, term.population_low, term.population_high]
            computed = [shown[key] for key in ("estimate", "low", "high", "populationLow", "populationHigh")]
            assert computed == pytest.approx(expected, rel=1e-5)


def test_a_changed_page_and_a_missing_one_are_found(folder: Path) -> None:
    files = dict(read_files(folder))
    changed = files | {"ask.html": files["ask.html"].replace(b"WIDEST = 0.5", b"WIDEST = 5.0")}
    assert [problem[:14] for problem in problems(verify_files(resealed(changed)))] == ["ask.html: line"]
    del files["ask.he.html"]
    assert problems(verify_files(resealed(files))) == ["ask.he.html: this file is missing"]


def test_a_release_without_noisy_tables_has_no_page() -> None:
    assert "README.html" in rich_bundle()
    assert not [name for name in rich_bundle() if name.startswith("ask.")]
    assert b"ask.html" not in rich_bundle()["README.html"]


def test_the_head_allows_the_script_and_the_style_of_the_page_and_nothing_else(folder: Path) -> None:
    page = (folder / "ask.html").read_text(encoding="utf-8")
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for directive, pattern in (("script-src", r"<script>(.*?)</script>"), ("style-src", r"<style>(.*?)</style>")):
        [source] = re.findall(pattern, page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert allowed.pop(directive) == f"'sha256-{digest}'"
    assert allowed == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    assert "style=" not in page
    assert HOSTILE not in page
    assert _data(page)["columns"][0]["text"] == HOSTILE


@pytest.mark.parametrize("name", ["answers.js", "ask.js"])
def test_no_text_becomes_html_or_code(name: str) -> None:
    source = (FOLDER / name).read_text(encoding="utf-8")
    unsafe = r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|DOMParser|setHTML|\.style\b"
    unsafe += r"|fetch\(|XMLHttp|import\("
    assert re.findall(unsafe, source) == []


def _words(language: str) -> dict[str, str]:
    return tomllib.loads((FOLDER.parent / "words" / f"{language}.ask.toml").read_text(encoding="utf-8"))


def test_every_language_has_all_words_with_the_same_values_in_them() -> None:
    english = _words("en")
    for language in LANGUAGES:
        other = _words(language)
        assert other.keys() == english.keys()
        for key, text in english.items():
            assert sorted(re.findall(r"{\w+}", other[key])) == sorted(re.findall(r"{\w+}", text)), key


def test_every_word_of_the_page_is_there_and_each_is_used() -> None:
    sources = "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("ask.js", "ask.html"))
    english = _words("en")
    assert set(re.findall(r'word\("(\w+)"', sources)) <= english.keys()
    built = ("head_", "column_", "file_", "copy_", "design weights", "calibration", "several rows", "clusters")
    assert [key for key in english if not key.startswith(built) and not re.search(rf"\b{key}\b", sources)] == []


def test_forty_five_columns_and_a_hundred_pairs_stay_below_half_a_megabyte(folder: Path) -> None:
    """With twenty tables of three columns, the noisy counts and those of the rows."""
    sizes, random = [12] * 45, np.random.default_rng(1)
    columns = tuple(integer_column(f"column_{number}", list(range(size + 1))) for number, size in enumerate(sizes))
    names = [column.name for column in columns]
    tables = [(name,) for name in names]
    tables += [tuple(sorted((names[at % 45], names[(at + 1 + at // 45) % 45]), key=names.index)) for at in range(100)]
    tables += [tuple(names[at : at + 3]) for at in range(0, 40, 2)]
    table = random.integers(0, 12, (20_000, 45))
    found = noisy_tables(columns, table, tables, Fraction(1, 20), random)
    made = replace(published(columns, table, ()), measurements=Measurements(tables=found, times=1.0))
    page = (folder / "ask.html").read_bytes()
    text = json.dumps(data_of(made, made.counts), separators=(",", ":"))
    assert len(page) + len(text) < 500_000
