"""The R package in docs/r answers as `estimate` does. Needs R with jsonlite; node puts the questions into words."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthrelease.answers.estimates import estimate
from synthrelease.bundle.ask import data_of
from synthrelease.errors import InputError
from synthrelease.published import load
from tests.bundle.test_ask import KINDS, MODELS, QUESTIONS
from tests.conftest import ROOT
from tests.helpers.page_answers import page_answers, random_questions
from tests.helpers.tiny import write_measured_release

pytestmark = pytest.mark.long
PACKAGE = ROOT / "docs" / "r"
_DRIVER = """
arguments <- commandArgs(TRUE)
for (file in list.files(arguments[1], full.names = TRUE)) source(file)
data <- noisy_tables(jsonlite::fromJSON(arguments[2], simplifyVector = FALSE))
refused <- function(problem) list(error = conditionMessage(problem))
answer <- function(question) tryCatch(estimate(data, question), error = refused)
writeLines(jsonlite::toJSON(lapply(readLines(arguments[3]), answer), digits = I(17), na = "null", auto_unbox = TRUE))
"""
_NUMBERS = ("estimate", "low", "high", "population_low", "population_high", "binned_low", "binned_high")
_ROWS = ("rows", "rows_low", "rows_high")


@pytest.fixture(scope="module")
def rscript() -> str:
    found = shutil.which("Rscript")
    if found is None:
        pytest.skip("needs R (apt-get install r-base-core)")
    if subprocess.run([found, "-e", "library(jsonlite)"], capture_output=True, check=False).returncode:
        pytest.skip("needs jsonlite, a package of R (apt-get install r-cran-jsonlite)")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_questions_have_the_same_answers(kind: str, rscript: str, tmp_path: Path) -> None:
    made, n_numbers = KINDS[kind](), 0
    data = data_of(made, made.counts)
    asked = page_answers(data, random_questions(data, 100, np.random.default_rng(9)))
    texts = [answer["text"] for answer in asked if answer["text"]]
    for text, lines in zip(texts, _answers(rscript, data, texts, tmp_path), strict=True):
        if "error" in lines:
            with pytest.raises(InputError, match="the rules allow no row in this group"):
                estimate(made, text)
            continue
        terms = estimate(made, text).terms
        assert [line["group"] for line in lines] == [term.group for term in terms], text
        for line, term in zip(lines, terms, strict=True):
            for name in (*_NUMBERS, *_ROWS):
                expected = getattr(term, name)
                assert (line.get(name) is None) == (expected is None), (text, name, line, term)
                assert expected is None or line[name] == pytest.approx(expected, rel=1e-7, abs=1e-12), (text, name, line)
                n_numbers += expected is not None
            assert (line.get("bin") and (line["bin_low"], line["bin"], line["bin_high"])) == term.bins
    assert n_numbers > 500


def test_a_question_that_was_measured_on_purpose_has_the_answer_of_the_command(rscript: str, tmp_path: Path) -> None:
    release = load(write_measured_release(tmp_path, tmp_path / "release", MODELS))
    data = data_of(release, release.counts)
    for text, lines in zip(QUESTIONS, _answers(rscript, data, list(QUESTIONS), tmp_path), strict=True):
        found = estimate(release, text)
        for line, term in zip(lines, (*found.terms, *found.contrasts), strict=True):
            assert (line["name"], line["group"]) == (term.name, term.group)
            for name in _NUMBERS[:5]:
                assert line[name] == pytest.approx(getattr(term, name), rel=1e-5)


def test_rows_are_read_from_the_file_that_the_release_names(rscript: str, tmp_path: Path) -> None:
    """With synthetic_names, no file is called data.csv."""
    release = load(write_measured_release(tmp_path, tmp_path / "release", MODELS))
    document = json.loads((tmp_path / "release" / "release.json").read_text(encoding="utf-8"))
    document["bundle"] = {**document.get("bundle", {}), "synthetic_names": True}
    (tmp_path / "release" / "release.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "release" / "data.csv").rename(tmp_path / "release" / "synthetic-data.csv")
    read = f"source('{PACKAGE / 'R' / 'release.R'}'); cat(nrow(as.data.frame(read_release('release'))))"
    (tmp_path / "release" / "ask.html").unlink(missing_ok=True)
    done = subprocess.run([rscript, "-e", read], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) == release.n_rows


def test_the_package_passes_the_checks_of_r(rscript: str, tmp_path: Path) -> None:
    program = [shutil.which("R") or "R", "CMD"]
    subprocess.run([*program, "build", str(PACKAGE)], cwd=tmp_path, capture_output=True, check=True)
    [archive] = tmp_path.glob("synthrelease_*.tar.gz")
    done = subprocess.run(
        [*program, "check", "--no-manual", archive.name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Status: OK" in done.stdout, done.stdout


def _answers(rscript: str, data: dict[str, Any], texts: list[str], folder: Path) -> list[Any]:
    (folder / "data.json").write_text(json.dumps(data), encoding="utf-8")
    (folder / "questions.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (folder / "driver.R").write_text(_DRIVER, encoding="utf-8")
    words = [rscript, "driver.R", str(PACKAGE / "R"), "data.json", "questions.txt"]
    return list(json.loads(subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout))
