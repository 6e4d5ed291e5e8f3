"""ask.html in the system's Chromium: what is shown, by keyboard, in both schemes and directions, and what is copied."""

from __future__ import annotations

import io
import math
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pandas as pd
import pytest

pytest.importorskip("httpx", reason="needs httpx, of the extra `test`")

from synthrelease.answers.estimates import estimate
from synthrelease.published import load
from tests.bundle.test_ask import MODELS, QUESTIONS
from tests.conftest import ROOT
from tests.helpers.tiny import write_measured_release
from tests.studio.desk.browser import Browser, browser, driver, missing, needs_axe

if TYPE_CHECKING:
    import httpx

pytestmark = pytest.mark.slow
if missing():
    pytest.skip(missing(), allow_module_level=True)

TAB, SPACE, ENTER, DOWN = "\ue004", "\ue00d", "\ue007", "\ue015"
RUN = "document.title='run'"
HOSTILE = f"<img src=x onerror={RUN}>"
CHANGES = {
    'title = "Coins"': f'title = "Coins </script><script>{RUN}</script>"',
    'categories = ["head", "tail"]': f'categories = ["head", "tail", "{HOSTILE}", "a, b"]',
    'kind = "category"': f'kind = "category"\ndescription = "</script><script>{RUN}</script>{HOSTILE}"',
    **MODELS,
    "[[generators]]": f'[card]\ncontact = "a@example.org"\ncolumns.year = "{HOSTILE}"\nhe.title = "מטבע"\n\n[[generators]]',
}
FACES = ["head", "tail", HOSTILE, "a, b"]
SHARES = "#show=share&of=face&by=year"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("asked")
    return write_measured_release(work, work / "release", CHANGES)


@pytest.fixture(scope="module")
def chromedriver() -> Iterator[httpx.Client]:
    with driver() as client:
        yield client


@pytest.fixture
def chromium(chromedriver: httpx.Client) -> Iterator[Browser]:
    with browser(chromedriver) as window:
        window.size(1280)
        yield window


def _open(window: Browser, folder: Path, question: str, name: str = "ask.html") -> None:
    """Open a question, and wait for its answer."""
    window.open("about:blank")
    window.open(f"{(folder / name).as_uri()}{question}")
    window.wait_for("//section[@id='answer'][@aria-busy='false']//caption")


def _cells(window: Browser) -> list[str]:
    return list(window.run("return [...document.querySelectorAll('tbody td')].map(cell => cell.innerText)"))


def test_the_table_shows_what_the_command_says(chromium: Browser, folder: Path) -> None:
    _open(chromium, folder, SHARES)
    release, cells = load(folder), iter(_cells(chromium))
    terms = {face: estimate(release, f'share face == "{face}" by year').terms for face in FACES}
    for group in range(4):
        for face in terms:
            term, shown = terms[face][group], next(cells)
            assert term.estimable
            assert term.low is not None
            numbers = [float(number) for number in re.findall(r"[\d.]+(?=%)", shown)]
            expected = [term.high, term.estimate] if term.low <= 0 else [term.estimate, term.low, term.high]
            if shown.startswith(("none", "all")):
                assert term.low == term.high
            else:
                assert numbers == pytest.approx([100 * number for number in expected if number is not None], abs=0.051)
                assert shown.startswith("at most") == (term.low <= 0)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_that_was_measured_on_purpose_is_shown_and_copied(question: str, chromium: Browser, folder: Path) -> None:
    _open(chromium, folder, f"#{urlencode({'show': 'measured', 'question': question, 'population': 1})}")
    assert chromium.value("//select[@id='asked']") == str(QUESTIONS.index(question))
    assert chromium.run("return [...document.querySelectorAll('.field')].map(field => field.hidden)") == [
        False, False, True, True, True,
    ]  # fmt: skip
    found = estimate(load(folder), question)
    terms, frame = (*found.terms, *found.contrasts), pd.read_csv(io.StringIO(_copied(chromium, "csv")))
    for name in ("estimate", "low", "high"):
        expected = [math.nan if term.estimate is None else getattr(term, name) for term in terms]
        assert frame[name].tolist() == pytest.approx(expected, rel=1e-5, nan_ok=True)
    shown = re.findall(r"-?[\d.]+", " ".join(_cells(chromium)).replace("\u200e", ""))
    expected = [
        number for term in terms for number in (term.estimate, term.low, term.high, term.population_low, term.population_high)
    ]
    assert [float(number) for number in shown] == pytest.approx([of for of in expected if of is not None], abs=0.051)
    assert _copied(chromium, "command") == f'synthrelease estimate . "{question}"\n'
    assert ("A coefficient compares" in chromium.text("//ul[@id='notes']")) == question.startswith("slope")
    chromium.click("//input[@id='together']")
    wider = estimate(load(folder), question, together=True)
    lows = pd.read_csv(io.StringIO(_copied(chromium, "csv")))["low"].dropna()
    expected = [term.low for term in (*wider.terms, *wider.contrasts) if term.low is not None]
    assert lows.tolist() == pytest.approx(expected, rel=1e-5)


def test_a_question_that_was_measured_on_purpose_may_be_chosen_by_keyboard(chromium: Browser, folder: Path) -> None:
    _open(chromium, folder, "#show=median&of=year")
    chromium.focus("//select[@id='kind']")
    chromium.keys(DOWN, DOWN, TAB, DOWN)
    chromium.wait_for("//caption[starts-with(., 'Mean of') and contains(., 'by')]")
    assert "question=mean+year+by+face" in chromium.address


def test_each_kind_of_question_has_its_answer(chromium: Browser, folder: Path) -> None:
    for question, text in (
        ("#show=count&of=face", "Number of rows with each value of face"),
        ("#show=median&of=year", "Median of"),
        ("#show=quantile&of=year&by=face", "Quantiles of"),
        ("#show=mean&of=year&by=face", "Mean of"),
        ("#show=share&of=face&pool=0.3", "Share of rows with face: head, a, b"),
        ("#show=share&of=face&among=year&keep=0.1", "Among rows with"),
    ):
        _open(chromium, folder, question)
        caption = chromium.text("//caption").replace("\u2068", "").replace("\u2069", "").replace("\u2066", "")
        assert text in caption
        assert chromium.count("//tbody/tr") >= 1
        assert chromium.count("//*[name()='svg'][@role='img']") == 1


def test_labels_titles_and_links_from_a_hostile_publisher_do_nothing(chromium: Browser, folder: Path) -> None:
    for question in (
        SHARES,
        f"#show={HOSTILE}&of=__proto__&by=constructor&among={HOSTILE}&keep=1.2.-3&pool=99999999999",
        "#of=face&pool=0.9.x&keep=0",
        "#%E0%A4%A",
    ):
        _open(chromium, folder, question)
        assert chromium.run("return document.title").startswith("Ask: Coins </script>")
        assert chromium.run("return document.querySelectorAll('img, script[src], iframe').length") == 0
    _open(chromium, folder, "#show=share&of=nobody&by=year")
    assert "nobody" in chromium.text("//p[@id='status']")
    _open(chromium, folder, "#show=share&of=face&by=year&among=year&keep=1")
    assert "each column only once" in chromium.text("//p[@id='status']")


def test_a_question_is_put_together_and_copied_by_keyboard(chromium: Browser, folder: Path) -> None:
    _open(chromium, folder, "#show=share&of=face")
    chromium.focus("//a[@class='skip']")
    chromium.keys(*[TAB] * 3)
    assert chromium.run("return document.activeElement.id") == "kind"
    chromium.keys(DOWN)
    chromium.wait_for("//caption[starts-with(., 'Number of rows')]")
    seen = []
    for _ in range(60):
        chromium.keys(TAB)
        seen.append(chromium.run("const at = document.activeElement; return at.id || at.dataset.copy || at.type || at.tagName"))
        if seen[-1] == "csv":
            break
    assert [name for name in seen if name in ("of", "by", "among", "table", "together", "csv")] == [
        "of", "by", "among", "table", "together", "csv",
    ]  # fmt: skip
    chromium.keys(ENTER)
    chromium.wait_for("//textarea[@id='copied'][not(@hidden)]")
    assert chromium.value("//textarea[@id='copied']").startswith("measure,column,value")


def test_a_narrow_page_scrolls_the_table_and_not_the_page(chromium: Browser, folder: Path) -> None:
    chromium.size(390)
    for name in ("ask.html", "ask.he.html"):
        _open(chromium, folder, SHARES, name)
        assert chromium.run("return document.documentElement.scrollWidth") <= 390
        assert chromium.run("return document.getElementById('table').tabIndex") == 0


def test_a_page_from_right_to_left_turns_no_number_round(chromium: Browser, folder: Path) -> None:
    """The low end of an interval stands left of its high end, and a label of numbers is one."""
    _open(chromium, folder, SHARES, "ask.he.html")
    for name in ("td span bdi", "tbody th bdi"):
        assert chromium.run(f"return getComputedStyle(document.querySelector('{name}')).direction") in ("ltr", "rtl")
    labels = chromium.run("return [...document.querySelectorAll('tbody th bdi')].map(label => [label.innerText, label.dir])")
    assert labels == [["1-2", "ltr"], ["3-4", "ltr"], ["5-6", "ltr"], ["7-8", "ltr"]]


GAPS = {
    'categories = ["head", "tail"]': 'categories = ["head", "tail"]\nmissing = "bin"\nmissing_label = "not seen"',
    "limit = 25": "limit = 25\nrows = 1",
}


def test_rows_without_a_value_are_said_and_left_out_by_a_button(chromium: Browser, tmp_path: Path) -> None:
    folder = write_measured_release(tmp_path, tmp_path / "release", GAPS)
    _open(chromium, folder, "#show=share&of=face&by=year")
    assert "not seen" in chromium.text("//caption")
    chromium.click("//fieldset[@id='pool']//button[2]")
    chromium.wait_for("//caption[contains(., 'Among rows')]")
    assert "not seen" not in chromium.text("//caption")
    command = _copied(chromium, "command").splitlines()[0]
    assert command.endswith("\"share face == 'head' by year where not face is missing\"")
    terms = estimate(load(folder), "share face == 'head' by year where face is not missing").terms
    shown = [float(number) for number in re.findall(r"([\d.]+)%", _cells(chromium)[0])]
    assert 100 * float(terms[0].estimate or 0) == pytest.approx(shown[0], abs=0.051) or terms[0].low == 0


def _copied(window: Browser, kind: str) -> str:
    window.click(f"//button[@data-copy='{kind}']")
    window.wait_for("//textarea[@id='copied'][not(@hidden)]")
    return window.value("//textarea[@id='copied']")


def test_what_is_copied_runs(chromium: Browser, folder: Path, tmp_path: Path) -> None:
    _open(chromium, folder, SHARES)
    copied = tmp_path / "copied.py"
    copied.write_text(_copied(chromium, "python"), encoding="utf-8")
    frame = runpy.run_path(str(copied))["d"]
    assert frame["value"].tolist() == FACES * 4
    terms = estimate(load(folder), "share face == 'head' by year").terms
    assert frame["estimate"][::4].tolist() == pytest.approx([term.estimate for term in terms], rel=1e-7)
    table, link = _copied(chromium, "csv"), _copied(chromium, "link")
    _open(chromium, folder, link.strip())
    assert _copied(chromium, "csv") == table
    here = os.environ | {"PYTHONPATH": str(ROOT)}
    for line in _copied(chromium, "command").strip().splitlines():
        command = line.replace("synthrelease", f"'{sys.executable}' -m synthrelease", 1)
        run = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, env=here, check=False)
        assert run.returncode == 0, (line, run.stderr)
    if shutil.which("Rscript"):
        script = tmp_path / "copied.R"
        script.write_text(_copied(chromium, "r") + 'write.csv(d, "copied.csv", row.names = FALSE)\n', encoding="utf-8")
        subprocess.run(["Rscript", str(script)], cwd=tmp_path, check=True, capture_output=True)
        assert pd.read_csv(tmp_path / "copied.csv", keep_default_na=False)["value"].tolist() == frame["value"].tolist()


def test_no_copied_label_is_computed_by_a_spreadsheet(chromium: Browser, folder: Path, tmp_path: Path) -> None:
    """A configuration may have no such label; a page that somebody else wrote may."""
    page = (folder / "ask.html").read_text(encoding="utf-8")
    (tmp_path / "ask.html").write_text(page.replace('"a, b"', '"=HYPERLINK(1)"'), encoding="utf-8")
    _open(chromium, tmp_path, SHARES)
    lines = _copied(chromium, "csv").splitlines()
    assert sum("'=HYPERLINK(1)" in line for line in lines) == 4
    assert not re.search(r"(^|,)\"?[=+@]", "\n".join(lines), re.MULTILINE)


def test_the_lines_for_stata_are_one_record_each(chromium: Browser, folder: Path) -> None:
    """Stata is nowhere at hand: a reader of its rules for `input` takes the lines apart."""
    _open(chromium, folder, SHARES)
    clear, names, *lines, end = _copied(chromium, "stata").strip().splitlines()
    assert (clear, end) == ("clear", "end")
    fields = re.findall(r"(?:str\d+|double) (\w+)", names)
    assert len(lines) == 16
    for line in lines:
        values = re.findall(r'"[^"]*"|\S+', line)
        assert len(values) == len(fields)
        assert not re.search(r"[`$\\]", line)
        assert all(value.startswith('"') or float(value.replace(".", "0") if value == "." else value) >= 0 for value in values)


@needs_axe
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["ask.html", "ask.he.html"])
def test_axe_finds_nothing(chromium: Browser, folder: Path, name: str, width: int, dark: bool) -> None:
    chromium.size(width, dark=dark)
    measured = f"#show=measured&question={QUESTIONS[2]}&population=1"
    for question in (
        SHARES,
        measured,
        "#show=median&of=year&by=face&rows=1&population=1",
        "#show=share&of=face&among=year&keep=0",
    ):
        _open(chromium, folder, question, name)
        chromium.run("document.querySelector('details').open = true; document.getElementById('copied').hidden = false")
        assert chromium.axe() == [], question
