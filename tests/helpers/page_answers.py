"""What ask.html computes: its own script, run by node on random questions."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthrelease.bundle.card.numbers import FOLDER
from synthrelease.published import PublishedRelease
from synthrelease.published.measurements import PublishedMeasurement
from tests.helpers.published import noisy_tables

SCRIPT = FOLDER / "answers.js"
_DRIVER = """
const fs = require("fs"), vm = require("vm"), input = JSON.parse(fs.readFileSync(0, "utf8"));
vm.runInThisContext(fs.readFileSync(process.argv[1], "utf8"));
const answers = new (vm.runInThisContext("Answers"))(input.data);
const read = condition => condition && { column: condition.column, bins: new Set(condition.bins) };
process.stdout.write(JSON.stringify(input.questions.map(question => {
  const asked = { ...question, met: read(question.met), where: read(question.where) };
  return { text: answers.questionText(asked), terms: answers.ask(asked, { rows: true, population: true, among: input.among }) };
})));
"""


def node() -> str:
    """The program that runs the script; the test is skipped without one."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("needs node, which runs the script of the page (apt-get install nodejs)")
    return found


def page_answers(data: dict[str, Any], questions: list[dict[str, Any]], among: int = 1, script: Path = SCRIPT) -> list[Any]:
    """Of each question its text, and what the script of the page computes of it."""
    run = subprocess.run(
        [node(), "-e", _DRIVER, str(script)],
        input=json.dumps({"data": data, "questions": questions, "among": among}),
        capture_output=True,
        text=True,
        check=True,
    )
    return list(json.loads(run.stdout))


def random_questions(data: dict[str, Any], n: int, random: np.random.Generator) -> list[dict[str, Any]]:
    """Questions that the controls of the page can put together, each with columns that were measured together."""
    questions: list[dict[str, Any]] = []
    while len(questions) < n:
        table = data["tables"][random.integers(len(data["tables"]))]["columns"]
        first, *others = random.permutation(table)[: random.integers(1, len(table) + 1)].tolist()
        kind = str(random.choice(["share", "share", "mean", "median", "quantile"]))
        column = data["columns"][first]
        if (kind == "mean" and "numbers" not in column) or (kind in ("median", "quantile") and not column["ordered"]):
            continue
        question: dict[str, Any] = {"kind": kind} | (
            {"part": float(random.choice([0.1, 0.25, 0.9]))} if kind == "quantile" else {}
        )
        question |= {"met": _condition(data, first, random)} if kind == "share" else {"column": first}
        question |= {"by": others.pop()} if others and random.random() < 0.7 else {}
        if random.random() < 0.2:
            question["where"] = _condition(data, first, random)
        elif others:
            question["where"] = _condition(data, others.pop(), random)
        questions.append(question)
    return questions


def _condition(data: dict[str, Any], column: int, random: np.random.Generator) -> dict[str, Any]:
    size = len(data["columns"][column]["labels"])
    n_bins, start = int(random.integers(1, size + 1)), int(random.integers(size))
    in_a_row = sorted({(start + step) % size for step in range(n_bins)})
    return {"column": column, "bins": in_a_row if random.random() < 0.5 else sorted(random.permutation(size)[:n_bins].tolist())}


def with_gaussian_noise(
    release: PublishedRelease, table: np.ndarray, measured: tuple[str, ...], rho: Fraction, random: np.random.Generator
) -> PublishedRelease:
    """The release with the tables of these columns under rounded Gaussian noise, each at this rho."""
    assert release.measurements is not None
    tables = []
    for exact in noisy_tables(release.schema, table, measured, Fraction(1)):
        of_law = replace(exact, law="rounded Gaussian", cost=rho)
        noise = np.rint(random.normal(0, of_law.noise.scale, exact.values.shape)).astype(np.int64)
        tables.append(replace(of_law, values=exact.values + noise))
    return replace(release, measurements=replace(release.measurements, tables=tuple(tables)))


def with_counts(tables: tuple[PublishedMeasurement, ...]) -> tuple[PublishedMeasurement, ...]:
    """The tables with two noises in every other cell, as where finer bins were measured than released."""
    return tuple(
        replace(table, cells=np.where(np.arange(table.cells.size).reshape(table.cells.shape) % 2, 2, 1)) for table in tables
    )
