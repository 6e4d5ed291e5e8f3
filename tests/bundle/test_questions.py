"""estimates.csv says what the noisy tables say, verify notices edits, and the code of QUESTIONS.md runs on its own files."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from synthrelease.answers.estimates import estimate
from synthrelease.bundle.estimates import CSV, estimates_files, estimates_part, with_errors
from synthrelease.bundle.sheets import QUESTIONS_NAME
from synthrelease.bundle.verify import verify_bundle, verify_files
from synthrelease.bundle.verify_documents import estimates
from synthrelease.published import load
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.verify.checks import read_files
from tests.helpers.forgeries import of_version, problems, written_anew
from tests.helpers.forked import run_apart
from tests.helpers.tiny import write_measured_release

INTENDED = """stop_probability = 0.001

[[intended_queries]]
query = "share face == 'head': year >= 5 against < 5"
"""
GAPS = {
    'categories = ["head", "tail"]': 'categories = ["head", "tail"]\nmissing = "bin"\nmissing_label = "not seen"',
    "limit = 25": "limit = 25\nrows = 1",
}


@pytest.fixture(scope="module", params=[{}, GAPS], ids=["coins", "missing values"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("questions")
    return write_measured_release(work, work / "bundle", {"stop_probability = 0.001\n": INTENDED, **request.param})


@pytest.fixture(scope="module")
def lines(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / CSV).read_text(encoding="utf-8"))))


def _of(lines: list[dict[str, str]], **wanted: str) -> list[dict[str, str]]:
    return [line for line in lines if all(line[name] == text for name, text in wanted.items())]


def test_every_line_is_what_the_command_says(folder: Path, lines: list[dict[str, str]]) -> None:
    release = load(folder)
    [line] = _of(lines, statistic="share", column="face", value="head", by="", question="")
    [term] = estimate(release, "share face == 'head'").terms
    assert [float(line[name]) for name in ("estimate", "lower", "upper", "population_lower", "standard_error")] == [
        pytest.approx(value, rel=1e-5)
        for value in (term.estimate, term.low, term.high, term.population_low, term.standard_error)
    ]
    [count] = _of(lines, statistic="count", column="face", value="head", by="", question="")
    assert (float(count["lower"]), float(count["upper"])) == (term.rows_low, term.rows_high)
    by = "year" if _of(lines, statistic="share", column="face", by="year") else "face"
    column, value = ("face", "head") if by == "year" else ("year", "1-2")
    question = f"share {column} == 'head' by year" if by == "year" else "share year <= 2 by face"
    told = _of(lines, statistic="share", column=column, value=value, by=by)
    for term in estimate(release, question).terms:
        [line] = _of(told, group=term.group)
        if line["told"] == "yes":
            assert (float(line["lower"]), float(line["upper"])) == pytest.approx((term.low, term.high), rel=1e-5)
    difference = estimate(release, "share face == 'head': year >= 5 against < 5").contrasts[0]
    [line] = _of(lines, statistic="risk difference")
    assert float(line["lower"]) == pytest.approx(difference.low, rel=1e-5)
    assert line["question"] == "share face == 'head': year >= 5 against < 5"


def test_every_bin_cell_and_mean_is_there(folder: Path, lines: list[dict[str, str]]) -> None:
    face, year = load(folder).schema
    listed = _of(lines, statistic="count", question="")
    assert len(listed) == len(face.labels) + len(year.labels) + len(face.labels) * len(year.labels)
    assert len(_of(lines, statistic="median", column="year")) == 1
    assert _of(lines, statistic="mean of bin numbers", column="year")


def test_what_the_noise_hides_has_no_number(lines: list[dict[str, str]]) -> None:
    for line in lines:
        if line["told"] == "not estimable":
            assert line["estimate"] == line["lower"] == line["upper"] == ""
        else:
            assert line["told"] == "yes"
            assert float(line["lower"]) <= float(line["upper"])
            assert line["statistic"] != "share" or float(line["upper"]) - float(line["lower"]) < 0.5


@pytest.mark.slow
def test_verify_computes_the_lines_again_and_finds_edits(folder: Path) -> None:
    assert verify_bundle(folder).passed
    files = read_files(folder)
    document = read_strictly(files["release.json"])
    assert estimates(document, files).problems == ()
    text = files[CSV].decode()
    number = re.search(r"(?<=share,face,head,,,,,)0\.\d+", text)
    assert number is not None
    edits = [
        text.replace(number[0], "0.123456", 1),
        text.replace("not estimable", "yes", 1) if "not estimable" in text else text.replace(",yes,", ",no,", 1),
        text[: text.rindex("\n", 0, -1) + 1],
        text.replace("measured table", "whole file", 1),
        text.replace("statistic", "kind", 1),
        text.replace("\n", "\r\n"),
        "",
    ]
    for edit in edits:
        assert edit != text
        assert estimates(document, {**files, CSV: edit.encode()}).problems, edit[:200]


def test_a_release_from_before_there_was_such_a_file_has_no_problem(folder: Path) -> None:
    files = read_files(folder)
    document = read_strictly(files["release.json"])
    old = document.model_copy(update={"files": {name: each for name, each in document.files.items() if name != CSV}})
    without = {name: content for name, content in files.items() if name != CSV}
    before = estimates(old.model_copy(update={"written_by": "0.1.0"}), without)
    assert before.problems == ()
    assert f"{CSV} is missing, as it may be in documents of version 0.1.0." in before.limits
    (problem,) = estimates(old, without).problems
    assert problem.startswith(f"{CSV}: this file is missing, although")


def _code(folder: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", (folder / QUESTIONS_NAME).read_text(encoding="utf-8"), re.DOTALL)


def test_the_sheet_has_its_questions_in_three_languages(folder: Path) -> None:
    for language in ("r", "python", "stata"):
        assert len(_code(folder, language)) == 1 + 10


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
def test_every_line_of_r_runs_on_the_files_of_the_folder(folder: Path, lines: list[dict[str, str]]) -> None:
    code = "\n".join(["options(warn = 2)", *_code(folder, "r"), 'cat("END", ask("count", "face", "head")$lower, "\\n")'])
    done = subprocess.run(["Rscript", "-"], input=code, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    [count] = _of(lines, statistic="count", column="face", value="head", by="", question="")
    assert float(done.stdout.rsplit("END", 1)[1]) == float(count["lower"])


@pytest.mark.slow
def test_every_line_of_python_runs_on_the_files_of_the_folder(folder: Path, lines: list[dict[str, str]]) -> None:
    strict = "import warnings; warnings.simplefilter('error')"
    code = "\n".join([strict, *_code(folder, "python"), 'print("END", ask(["count"], "face", "head").lower.item())'])
    done = run_apart(code, folder=folder)
    assert done.returncode == 0, done.stderr
    [count] = _of(lines, statistic="count", column="face", value="head", by="", question="")
    assert float(done.stdout.rsplit("END", 1)[1]) == float(count["lower"])


STATA = (
    r"version 14",
    r'import delimited using "([\w.-]+)", clear varnames\(1\) case\(preserve\) encoding\("UTF-8"\) stringcols\(([\d ]+|_all)\)',
    r'save "\w+\.dta", replace',
    r'use "\w+\.dta", clear',
    r'count if \w+ == "[^"]+"',
    r'generate (byte|double) \w+ = \w+ == "[^"]+"',
    r"generate double \w+ = [\w .()\[\]+^-]+",
    r'replace \w+ = [-\d.e]+ if \w+ == "[^"]+"',
    r"replace \w+ = exp\(\w+\)",
    r"summarize \w+",
    r"tabulate \w+( \w+|, summarize\(\w+\))?",
    r'(list( \w+)+|keep) if (\w+ (==|!=|<|>|&|\|) ("[^"]*"|\w+)( [&|] )?)+',
    r"list( \w+)+ if _n > 1",
    r"rename \w+ group",
    r"collapse \(mean\) rows, by\(group\)",
    r'merge 1:1 group using "asked_stata\.dta"',
)
"""Commands that Stata's manuals describe."""


def test_every_line_for_stata_is_a_command_that_names_what_the_files_have(folder: Path, lines: list[dict[str, str]]) -> None:
    known = {*lines[0], *(column.name for column in load(folder).schema), "met", "number", "rows", "_n"}
    for line in "\n".join(_code(folder, "stata")).splitlines():
        assert any(re.fullmatch(form, line) for form in STATA), line
        if found := re.fullmatch(STATA[1], line):
            assert (folder / found[1]).is_file()
            if found[2] != "_all":
                texts = [name for place, name in enumerate(lines[0], 1) if str(place) in found[2].split()]
                assert all(name not in texts for name in ("estimate", "lower", "upper", "confidence"))
        if found := re.match(r"(?:list|count|keep|replace) .*?if (\w+)", line):
            assert found[1] in known, line


NO_SAMPLES = {
    "several rows of a person": {
        "[budget]": '[unit]\nname = "toss"\nrecords_per_person = 3\nwhy = "a test"\n\n[budget]',
        "limit = 25": "limit = 60",
    },
    "clusters": {"[budget]": '[design]\nclusters = "tract"\n\n[budget]'},
    "design weights": {
        "rows = 400": 'rows = 400\none_row_per = "respondent"',
        'alternatives.pairs = ["1-2",': 'role = "weight"\nalternatives.pairs = ["1-2",',
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("reason", NO_SAMPLES)
def test_a_release_of_no_simple_random_sample_gives_no_interval_of_a_population(reason: str, tmp_path: Path) -> None:
    """In estimates.csv, in its further texts and by `estimate`; and nobody takes the reason out of release.json."""
    folder = write_measured_release(tmp_path, tmp_path / "bundle", NO_SAMPLES[reason])
    assert load(folder).not_a_sample == (reason,)
    lines = list(csv.DictReader(io.StringIO((folder / CSV).read_text(encoding="utf-8"))))
    assert {line["population_lower"] + line["population_upper"] for line in lines} == {""}
    assert {line["told"] for line in lines} >= {"yes"}
    [term] = estimate(folder, "share face == 'head'").terms
    assert term.low is not None
    assert term.population_low is None
    assert f"declares {reason}" in (folder / QUESTIONS_NAME).read_text(encoding="utf-8")
    assert f"the release declares {reason}" in " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    assert verify_bundle(folder).passed
    files = read_files(folder)
    document = read_strictly(files["release.json"])
    assert document.estimates is not None
    for other in ([], None):
        forged = document.model_copy(update={"estimates": document.estimates.model_copy(update={"not_a_sample": other})})
        assert estimates(forged, files).problems
    assert_as_1_0_0_wrote_them(document, files, reason)


CALIBRATED = """[calibration]
source = "A yearbook"

[[calibration.margins]]
columns = ["face"]
totals = { head = 6000, tail = 4000 }

"""
IN_EVERY_FORM = '[bundle]\nformats = ["stata", "spss", "r"]\ncatalogues = ["croissant", "ddi"]\n\n'
OF_A_POPULATION = re.compile(
    r"that of a population of which|interval is for a population of which|population\\?_lower.{0,3} to "
)
"""How the documents speak of an interval for a population."""


def population_ends(folder: Path) -> dict[str, int]:
    """How many intervals for a population each file of estimates has."""
    from pyreadstat import read_dta, read_sav

    lines = list(csv.DictReader(io.StringIO((folder / CSV).read_text(encoding="utf-8"))))
    ends = {CSV: sum(bool(line["population_lower"] or line["population_upper"]) for line in lines)}
    for name, read in (("estimates.dta", read_dta), ("estimates.sav", read_sav)):
        ends[name] = int(read(folder / name)[0][["population_lower", "population_upper"]].notna().any(axis=1).sum())
    return ends


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["", *NO_SAMPLES, "calibration to totals"])
def test_no_file_of_a_release_speaks_of_a_population_that_its_rows_are_no_sample_of(reason: str, tmp_path: Path) -> None:
    """Tables and texts in every format; the release without a reason shows that the test sees such intervals."""
    pytest.importorskip("pyreadstat", reason="needs the extra formats")
    more = CALIBRATED if reason.startswith("calibration") else ""
    changes = {**NO_SAMPLES.get(reason, {})}
    budget = changes.pop("[budget]", "[budget]")
    folder = write_measured_release(tmp_path, tmp_path / "bundle", {"[budget]": IN_EVERY_FORM + more + budget, **changes})
    assert load(folder).not_a_sample == ((reason,) if reason else ())
    told = {
        path.name for path in folder.iterdir() if OF_A_POPULATION.search(path.read_text(encoding="utf-8", errors="replace"))
    }
    ends = population_ends(folder)
    if reason:
        assert told == set()
        assert set(ends.values()) == {0}
        refused = {path.name for path in folder.iterdir() if f"release declares {reason}" in _words(path)}
        assert refused == {"README.html", "README.md", "QUESTIONS.md"}
    else:
        assert told == {"README.html", "README.md", "QUESTIONS.md"}
        assert min(ends.values()) > 0


def _words(path: Path) -> str:
    return " ".join(path.read_text(encoding="utf-8", errors="replace").split())


def assert_as_1_0_0_wrote_them(document: ReleaseDocument, files: Mapping[str, bytes], reason: str) -> None:
    """Estimates in the way of version 1.0.0, with everything that follows from them: of that version alone, and told."""
    old = document.model_copy(update={"estimates": estimates_part(document, files["measurements.json"], None)})
    listed = estimates_files(old, files["measurements.json"])
    whole = written_anew({**files, **listed}, json.loads(with_errors(old, listed).dumped()))
    assert any(problem.startswith("estimates: not_a_sample: ") for problem in problems(verify_files(whole)))
    report = verify_files(of_version(whole, "1.0.0"))
    assert problems(report) == []
    assert "Version 1.0.0 wrote the estimates" in report.closing
    assert f"although the release declares {reason}" in report.closing
