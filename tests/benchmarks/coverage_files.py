"""How often intervals of `synthrelease estimate` hold the numbers of the raw file, over releases of one and the same file.

    python -m tests.benchmarks.coverage_files FILE NAME [--spec CONFIG] [--runs 1000] [--seed 1] [--minutes M]

FILE is a public CSV file that plays the private one; without --spec its draft by `synthrelease init` says how it is read. The
truth comes from the texts of the file: the rows that the rules keep, with numbers as they are written, clipped to the bounds
where the specification says so. Every run is what a release does up to its noisy tables: the kept rows are counted with noise,
so many less the margin are drawn (public rows fill up where there are fewer), and every table of the generator is measured on
them, with noise of the published scale. Then `estimate` is asked. No candidate is made and nothing is selected: the runs are
not those in which a table would have been accepted, and intervals get no allowance for a selection. Prints Markdown.

A mean is held when the interval for the file's own values holds the mean of these; beside it stands how often the interval of
bin numbers holds the mean of these numbers, and, as a warning, that of the values. A slope is held against that of bin numbers.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import numpy as np

from synthrelease.answers.estimates import estimate
from synthrelease.answers.questions import Question, parse_question
from synthrelease.answers.words import Term
from synthrelease.data.marginals import added_up
from synthrelease.data.plausibility import FillerRows
from synthrelease.data.schema import Column, Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.enclave.reading import batches
from synthrelease.enclave.texts import Texts
from synthrelease.enclave.values import Known, atomic_bins
from synthrelease.errors import InputError
from synthrelease.generators.base import MeasuringGenerator
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.published import DomainPart, PublishedRelease, RulePart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.folder import Measurements
from synthrelease.published.measurements import PublishedMeasurement
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import clopper_pearson
from tests.benchmarks.coverage_questions import OF_FILES
from tests.benchmarks.noisy_tables import drawn_noise
from tests.helpers.published import published

Truth = dict[str, float]
ROOT = str(Path(__file__).resolve().parents[2])


class KeptFile:
    """The rows of a file that the rules keep.

    Attributes
    ----------
    bins : (n_kept, n_columns) released bins.
    values : for each numeric column its (n_kept,) values, clipped as the specification says; not a number where missing.
    n_file : rows of the file.
    """

    def __init__(self, path: Path, spec: ReleaseSpec, chosen: Transformation):
        digits: list[list[np.ndarray]] = []
        texts: list[dict[str, np.ndarray]] = []
        known: list[dict[str, Known]] = [{} for _ in spec.schema.columns]
        numeric = [one for one in spec.schema.columns if one.bounds and one.part is None]
        for _, columns in batches(Source.of(path), spec.schema, spec.input):
            pairs = zip(spec.schema.columns, known, strict=True)
            digits.append([atomic_bins(columns, column, spec.input, each).rows() for column, each in pairs])
            texts.append({one.name: _values(columns, one) for one in numeric})
        atoms = np.array([np.concatenate(each) for each in zip(*digits, strict=True)]).T
        kept = (atoms >= 0).all(axis=1)
        for mask in spec.raw.masks:
            kept[kept] = ~mask.forbidden[tuple(atoms[kept][:, column] for column in mask.columns)]
        self.n_file, self.atoms = len(atoms), atoms[kept]
        into = [np.array(binning.of_atom) for binning in chosen.binnings]
        self.bins = np.array([each[column] for each, column in zip(into, self.atoms.T, strict=True)]).T
        self.values = dict[str, np.ndarray]()
        for one in numeric:
            place = spec.schema.names.index(one.name)
            present = self.bins[:, place] < chosen.binnings[place].present
            clipped = np.clip(np.concatenate([each[one.name] for each in texts])[kept], *(one.bounds or (-math.inf, math.inf)))
            self.values[one.name] = np.where(present, clipped, math.nan)


def _values(columns: Mapping[str, Texts], column: Column) -> np.ndarray:
    """The number of each row as it is written, or the days between its dates; not a number where it is neither."""
    if column.minus is None:
        cells = columns[column.source]
        return np.array([_number(text) for text in cells.texts])[cells.codes]
    end, start = (np.array([_day(text) for text in columns[name].texts])[columns[name].codes] for name in column.sources)
    return np.asarray(end - start)


def _number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return math.nan


def _day(text: str | None) -> float:
    try:
        return date.fromisoformat((text or "").strip()).toordinal()
    except ValueError:
        return math.nan


@dataclass(kw_only=True)
class Found:
    """Of one estimated number, over the runs: for each interval whether it held its truth, and how wide it was."""

    held: dict[str, list[bool]] = field(default_factory=dict)
    widths: dict[str, list[float]] = field(default_factory=dict)

    def add(self, what: str, low: float | None, high: float | None, truth: float) -> None:
        ends = -math.inf if low is None else low, math.inf if high is None else high
        slack = 1e-9 * (1 + abs(truth))
        self.held.setdefault(what, []).append(ends[0] - slack <= truth <= ends[1] + slack)
        self.widths.setdefault(what, []).append(ends[1] - ends[0])


class Study:
    """Everything that stays the same from run to run."""

    def __init__(self, path: Path, spec: ReleaseSpec, asked: Sequence[str]):
        self.spec = spec
        generator = spec.space.generators[0]
        if not isinstance(generator, MeasuringGenerator):
            raise TypeError(f"{generator.family} does not measure")
        self.chosen = min((one for one in spec.space.transformations), key=lambda one: one.layout.n_cells)
        self.file = KeptFile(path, spec, self.chosen)
        counts = read_public(path, spec.schema, spec.input, spec.raw)
        if counts.total != len(self.file.bins):
            raise ValueError("the rows that were read here are not those that a release reads")
        names, common = self.chosen.layout.columns, spec.space.common
        maps = [finer.map_to(coarser) for finer, coarser in zip(common.binnings, self.chosen.binnings, strict=True)]
        once = PrivateCounts(counts.merge(common.layout, common.maps), Meter([spec.generation_charge]))
        measured = generator.measure(once.rehearsed(NoNoise()), spec.generation_charge).merge(self.chosen.layout, maps)
        self.tables = [
            PublishedMeasurement(
                columns=tuple(names[column] for column in table.columns),
                values=table.values,
                cells=table.cells,
                cost=table.cost,
            )
            for table in measured.tables
        ]
        self.places = [tuple(names.index(name) for name in table.columns) for table in self.tables]
        self.codes = [self.codes_of(place, self.file.bins) for place in self.places]
        columns = [ColumnPart.of(*pair).published() for pair in zip(spec.schema.columns, self.chosen.binnings, strict=True)]
        rules = [RulePart(never=rule.never, applies_to=rule.applies_to, why=rule.why) for rule in spec.rules]
        self.empty = published(columns, np.zeros((1, len(columns)), dtype=np.int64), (), rules=rules)
        self.questions = [parse_question(text, self.empty) for text in asked]
        self.refused = dict[str, int]()
        self.truths = [[self.true(question, inside) for inside in self.groups(question)] for question in self.questions]

    def codes_of(self, place: tuple[int, ...], bins: np.ndarray) -> np.ndarray:
        shape = [self.chosen.layout.sizes[column] for column in place]
        return np.ravel_multi_index([bins[:, column] for column in place], shape)

    def met(self, condition: Callable[..., np.ndarray], names: set[str]) -> np.ndarray:
        columns = [column for column in self.empty.schema if column.name in names]
        if not columns:
            return np.ones(len(self.file.bins), dtype=bool)
        mask = condition(tuple(columns))
        return np.asarray(mask[tuple(self.file.bins[:, self.empty.layout.index(column.name)] for column in columns)])

    def groups(self, question: Question) -> dict[str, np.ndarray]:
        """The rows of each group, by its label."""
        base = self.met(question.where.mask, question.where.columns)
        for name in filter(None, (question.column, *question.on)):
            column = self.empty.by_name[name]
            base = base & (self.file.bins[:, self.empty.layout.index(name)] < column.present)
        if not question.by:
            return {"": base}
        bins = self.file.bins[:, self.empty.layout.index(question.by)]
        return {label: base & (bins == place) for place, label in enumerate(self.empty.by_name[question.by].labels)}

    def numbers(self, name: str) -> np.ndarray:
        numbers = np.array([math.nan if one is None else one for one in self.empty.by_name[name].numbers])
        return numbers[self.file.bins[:, self.empty.layout.index(name)]]

    def true(self, question: Question, group: str) -> list[Truth]:
        inside = self.groups(question)[group]
        if not inside.any():
            return []
        if question.kind == "share":
            met = self.met(question.met.mask, question.met.columns) & inside
            return [{"file": met.sum() / inside.sum(), "rows": float(met.sum())}]
        if question.kind == "slope":
            x = np.column_stack([np.ones(inside.sum()), *(self.numbers(name)[inside] for name in question.on)])
            slopes = np.linalg.lstsq(x, self.numbers(question.column)[inside], rcond=None)[0][1:]
            return [{"of bin numbers": float(slope)} for slope in slopes]
        values = self.file.values.get(question.column, self.numbers(question.column))[inside]
        if question.kind == "median":
            return [{"file": float(np.quantile(values, 0.5, method="inverted_cdf"))}]
        return [
            {
                "file": float(values.mean()),
                "of bin numbers": float(self.numbers(question.column)[inside].mean()),
                "values, by the interval of bin numbers": float(values.mean()),
            }
        ]

    def released(self, random: np.random.Generator) -> PublishedRelease:
        """What one release publishes of the file: its noisy tables and number of rows."""
        rule, kept = self.spec.rows, len(self.file.bins)
        drawn = kept
        if rule.epsilon is not None:
            a = math.exp(-float(rule.epsilon))
            noise = int(random.geometric(1 - a)) - int(random.geometric(1 - a))
            drawn = min(max(kept + noise - rule.margin, 1), self.file.n_file)
        out = random.choice(kept, max(0, kept - drawn), replace=False)
        tables = []
        for table, place, codes in zip(self.tables, self.places, self.codes, strict=True):
            counts = np.bincount(codes, minlength=table.values.size) - np.bincount(codes[out], minlength=table.values.size)
            if drawn > kept:
                filler = FillerRows(self.spec.raw).first(drawn - kept).merge(self.chosen.layout, self.chosen.maps)
                counts = counts + added_up(filler.marginal(place), place, place).ravel()
            noisy = counts.reshape(table.values.shape) + drawn_noise(table, random)
            tables.append(replace(table, values=noisy))
        n_file = None if rule.way == "exact" else self.file.n_file
        return replace(
            self.empty,
            n_rows=drawn,
            domain=DomainPart.of(rule, n_file, ()),
            charges=self.spec.plan.total,
            measurements=Measurements(tables=tuple(tables), times=1.0),
        )

    def run(self, random: np.random.Generator, found: dict[tuple[int, str, int], Found]) -> None:
        release = self.released(random)
        for place, (question, truths) in enumerate(zip(self.questions, self.truths, strict=True)):
            try:
                terms = estimate(release, question.text).terms
            except InputError:  # a regression within the noise, or columns that no table holds
                self.refused[question.text] = self.refused.get(question.text, 0) + 1
                continue
            asked = dict(zip(self.groups_named(question), truths, strict=True))
            for index, term in enumerate(terms):
                known = asked[term.group]
                if not known:
                    continue
                one = found.setdefault((place, term.group, index if question.kind == "slope" else 0), Found())
                for what, truth in known[index if question.kind == "slope" else 0].items():
                    one.add(what, *_interval(term, what), truth)

    def groups_named(self, question: Question) -> tuple[str, ...]:
        return self.empty.by_name[question.by].labels if question.by else ("",)


def _interval(term: Term, what: str) -> tuple[float | None, float | None]:
    if what == "rows":
        return term.rows_low, term.rows_high
    if what == "file" or term.binned_low is None:
        return term.low, term.high
    return term.binned_low, term.binned_high


def drafted(path: Path, name: str, folder: Path) -> Path:
    """The draft that `synthrelease init` makes of a public file."""
    (folder / path.name).symlink_to(path.resolve())
    command = [sys.executable, "-m", "synthrelease", "init", name, "--from", path.name]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": ROOT})
    return folder / "configs" / f"{name}.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("name", choices=sorted(OF_FILES))
    parser.add_argument("--spec", type=Path, help="the specification; the draft of the file if not given")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no runs after so many")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spec = load_spec(options.spec or drafted(options.file, options.name, Path(folder)))
        study, found = Study(options.file, spec, OF_FILES[options.name]), dict[tuple[int, str, int], Found]()
    start, runs = time.process_time(), 0
    last = time.monotonic() + 60 * options.minutes
    while runs < options.runs and time.monotonic() < last:
        study.run(np.random.default_rng([options.seed, runs]), found)
        runs += 1
    seconds, rows = time.process_time() - start, len(study.file.bins)
    chance = clopper_pearson(round(0.95 * runs), runs)
    print(f"{runs} releases of {rows:,} kept rows of {study.file.n_file:,}; {seconds:,.0f} processor seconds.")
    print(f"Of 95% in so many runs, {100 * chance.low:.1f}% to {100 * chance.high:.1f}% is what chance does.\n")
    print("| estimate | of | held | mean width | runs |\n|---|---|---|---|---|")
    for (place, group, index), one in found.items():
        question = study.questions[place]
        name = question.text if len(question.on) < 2 else f"{question.text}: {question.on[index]}"
        name = name if not question.by else f"{name}: {group}"
        for what, held in one.held.items():
            percent = question.kind == "share" and what == "file"
            width = float(np.mean(one.widths[what]))
            shown = f"{100 * width:.3g} points" if percent else f"{width:.4g}"
            print(f"| {name} | {what} | {100 * np.mean(held):.1f}% | {shown} | {len(held)} |", flush=True)
    for text, times in study.refused.items():
        print(f"| {text} | refused in {times} runs | | | |")


if __name__ == "__main__":
    main()
