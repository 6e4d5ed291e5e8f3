"""How often the statements of a card hold, over releases of one and the same file: bands, intervals, limits, counts, estimates.

    python -m tests.benchmarks.coverage_card NAME [--file CSV] [--way counted|stated] [--sharp] [--joint] [--runs 100]
        [--seed 1] [--out JSON]
    python -m tests.benchmarks.coverage_card NAME --together JSON ...      # one table of several such series

NAME is births, labour, nist or small. A public file plays the private one: the surrogates of the births and of the labour
survey, NIST's excerpt (--file), or the first 4,000 births. Some of its columns are put into bins; rows that lack one of them
are left out. Every run is a whole release from the kept rows on, with seeded entropy: the rows are counted with noise and drawn
(at the default margin; with --way stated a tenth of the file is stated), tables are measured, a candidate is made and judged,
and rounds are repeated until one is accepted. Then release.json is written. Each statement of it and of
its card is held against the truth: the exact figures of the drawn rows and of all kept rows of the file. With --sharp criteria
get little noise, so that the drawing of the rows is all that is left. With --joint one noisy test of all criteria accepts, and
the figures share one noise afterwards. Every run also draws the joint test TESTS times for its table and a threshold just below
one of the exact figures: of all tables that must not pass this one passes most easily. Prints Markdown: the misses of each
statement, and what they say of one that holds in 93% of the releases. "Excluded": it would miss so often with a
probability below 2.5%, and the statement is false. "More": it would miss so seldom with a probability below 2.5%.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import binom

from synthrelease.bundle.card.sections import rows_left_out
from synthrelease.bundle.estimates import CSV, read_lines
from synthrelease.bundle.limits import band_columns, error_band, kept_rows
from synthrelease.bundle.write import release_files
from synthrelease.criteria.base import Criterion, Fitted
from synthrelease.criteria.facts import Query, Score
from synthrelease.criteria.scoring import JointTest, scores_of
from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import BinnedCounts
from synthrelease.enclave.door import PrivateCounts, PrivateRows
from synthrelease.enclave.ingest import read_public
from synthrelease.enclave.resizing import resize
from synthrelease.generators.candidate import Candidate
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.published.document import ReleaseDocument
from synthrelease.releasing.attempt import Prepared, prepare, released_figures
from synthrelease.releasing.release import Release, one_round
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import stated_guarantee
from tests.whole import digests

ROOT = Path(__file__).resolve().parents[2]
MOST_ROUNDS = 40
TESTS = 10
"""Draws of the joint test in a run."""
TEST = JointTest(epsilon=Fraction(1, 5), false_acceptance=Fraction(1, 20))
LEAST, CERTAIN = 0.93, 0.025
Row = Mapping[str, str]
Binned = Mapping[str, tuple[Callable[[str], int], int]]
"""Of each column, the bin of a text (below 0 for none) and the number of bins."""


def steps(*edges: float) -> tuple[Callable[[str], int], int]:
    """Bins between edges, of whatever is a number."""

    def place(text: str) -> int:
        try:
            return int(np.searchsorted(edges, float(text), side="right"))
        except ValueError:
            return -1

    return place, len(edges) + 1


def listed(*texts: str) -> tuple[Callable[[str], int], int]:
    """A bin for each text; none for others."""
    return (lambda text: texts.index(text) if text in texts else -1), len(texts)


BIRTHS: Binned = {
    "mother_age": steps(20, 25, 30, 35, 40),
    "parity": steps(2, 3, 4),
    "gestation_week": steps(28, 32, 37, 39, 41),
    "is_female": listed("False", "True"),
    "birth_weight": steps(1500, 2500, 3000, 3500, 4000),
}
FILES: Mapping[str, Binned] = {
    "births": BIRTHS,
    "small": BIRTHS,
    "labour": {
        "sex": listed("1", "2"),
        "age": steps(25, 35, 45, 55, 65),
        "marital_status": listed("1", "2", "3", "4"),
        "education": steps(2, 3, 4, 6),
        "labour_status": listed("1", "2", "3"),
    },
    "nist": {
        "SEX": listed("1", "2"),
        "MSP": listed("1", "2", "3", "4", "5", "6"),
        "AGEP": steps(25, 40, 55, 70),
        "OWN_RENT": listed("1", "2"),
        "EDU": steps(5, 8, 10, 12),
    },
}
QUESTION = {
    "births": "birth_weight <= 1",
    "small": "birth_weight <= 1",
    "labour": "labour_status == 1",
    "nist": "OWN_RENT == 1",
}
"""A share that the release is meant to tell."""


def table_of(name: str, file: Path | None) -> str:
    """The columns of a file in bins, as a CSV text; blank where a row has no bin."""
    path = file or ROOT / "public_data" / f"{'births' if name == 'small' else name}_surrogate.csv.gz"
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    written = io.StringIO()
    with io.StringIO(content.decode("utf-8")) as lines:
        writer = csv.writer(written)
        writer.writerow(FILES[name])
        for number, row in enumerate(csv.DictReader(lines)):
            if name == "small" and number >= 4000:
                break
            bins = [place(row[column]) for column, (place, _) in FILES[name].items()]
            writer.writerow(["" if each < 0 else each for each in bins])
    return written.getvalue()


def config_of(name: str, text: str, folder: Path, *, stated: bool, sharp: bool, joint: bool) -> tuple[Path, Path]:
    """The two files of a release of this table, and the table."""
    columns, n_file = FILES[name], text.count("\n") - 1
    first, second, last = list(columns)[0], list(columns)[1], list(columns)[-1]
    others = ", ".join(f'"{one}"' for one in list(columns)[1:])
    of_rows = f"rows = {n_file // 10}" if stated else 'rows = "private"'

    epsilon = 1 / (n_file // 10 if stated else n_file) / (0.0001 if sharp else 0.0015)
    more = {"ratio": 20, "mean": 20, "line": 20}  # of larger sensitivities
    test = 'test = "joint"\ntest_epsilon = 200\nfalse_acceptance = 0.05\n' if joint else ""
    schema = "".join(
        f'[columns.{one}]\nkind = "integer"\nbounds = [0, {bins - 1}]\nalternatives.single = ["0..{bins - 1}"]\n\n'
        for one, (_, bins) in columns.items()
    )
    config = folder / "study.toml"
    config.write_text(
        f'title = "Study"\nacceptance = "study_acceptance.toml"\n\n[input]\n{of_rows}\n\n{schema}'
        '[[generators]]\nfamily = "marginals"\ntables = "all 2-way"\n\n'
        '[[projections]]\nkind = "minimum_count"\nminimum_count = 1\n\n'
        f"[budget]\ngeneration = {20 if name == 'small' else 4}\nlimit = 1000000\n{'' if stated else 'rows = 0.05'}\n\n"
        '[selection]\nstop_probability = 0.001\nmeasurements = "shared"\npublish_measurements = true\n'
        f"bound_risk = 0.05\n{test}\n"
        f'[[intended_queries]]\nquery = "{QUESTION[name]}"\ngiven = "{first} >= 0"\n',
        encoding="utf-8",
    )
    criteria = {
        "all tables": f'kind = "absolute_marginal_error"\nlargest = 2\nthreshold = {0.05 if name == "small" else 0.02}',
        "single columns": f'kind = "absolute_marginal_error"\nlargest = 1\nthreshold = {0.03 if name == "small" else 0.01}',
        "ratio": 'kind = "relative_marginal_error"\nclip = 3\nthreshold = 2.9',
        "tables": f'kind = "mean_marginal_error"\ntables = ["all 2-way"]\nthreshold = {0.2 if name == "small" else 0.05}',
        "median": f'kind = "conditional_median"\ncolumn = "{last}"\nby = ["{first}"]\nwithin = 1\nthreshold = 0.02',
        "share": f'kind = "difference_in_proportions"\ncolumn = "{last}"\nbins = ["1"]\nthreshold = 0.05',
        "distribution": f'kind = "kolmogorov_distance"\ncolumn = "{last}"\nthreshold = 0.05',
        "mean": f'kind = "conditional_mean"\ncolumn = "{last}"\nrange = [0, {columns[last][1] - 1}]\nsize_margin = 0.05\n'
        "threshold = 0.5",
        "faithfulness": f'kind = "faithfulness"\nexact = ["{first}"]\nwithin_one_bin = [{others}]\nthreshold = 0.9',
        "line": f'kind = "regression_coefficients"\ntarget = "{last}"\nfeatures = ["{first}", "{second}"]\n'
        f'representation = {{ {last} = "single", {first} = "single", {second} = "single" }}\nfit = "once"\nthreshold = 100',
        "predictions": f'kind = "regression_prediction"\ncoefficients = "line"\nrange = [0, {columns[last][1] - 1}]\n'
        "threshold = 4",
        "answered tables": 'kind = "mean_marginal_error"\ntables = ["all 2-way"]\nthreshold = 1.9',
        "answered mean": f'kind = "conditional_mean"\ncolumn = "{last}"\nby = ["{first}"]\n'
        f'range = [0, {columns[last][1] - 1}]\nsize_margin = 0.05\nvalues = "bins"\nthreshold = 100',
        "answered share": f'kind = "difference_in_proportions"\ncolumn = "{last}"\nbins = ["1"]\nthreshold = 0.9',
    }
    (folder / "study_acceptance.toml").write_text(
        "".join(
            f'[[criteria]]\nname = "{one}"\n{text}\n'
            + (
                'answered_by = "measurements"\n\n'
                if one.startswith("answered")
                else f"epsilon = {more.get(one, 1) * epsilon:.6f}\n\n"
            )
            for one, text in criteria.items()
        ),
        encoding="utf-8",
    )
    data = folder / "study.csv"
    data.write_text(text, encoding="utf-8")
    return config, data


@dataclass(kw_only=True)
class Found:
    """Of a statement, over the runs: how many of its parts held, and how many it had."""

    held: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def add(self, held: bool | float, width: float = float("nan")) -> None:
        self.held.append(float(held))
        self.widths.append(width)


class Study:
    """What stays the same from run to run."""

    def __init__(self, name: str, text: str, folder: Path, *, stated: bool, sharp: bool, joint: bool = False):
        config, data = config_of(name, text, folder, stated=stated, sharp=sharp, joint=joint)
        self.name, self.spec = name, load_spec(config)
        self.kept: Counts = read_public(data, self.spec.schema, self.spec.input, self.spec.raw)
        self.n_file = text.count("\n") - 1
        self.found = dict[str, Found]()

    def run(self, seed: int) -> bool:
        """One release, its statements held against the truth; False where no table was accepted."""
        with seeded(seed):
            rows = PrivateRows(self.kept, self.n_file)
            private = resize(rows, self.spec.rows, self.spec.raw, self.spec.plan.once)
            drawn = private.spend([], lambda counts: counts)
            prepared = prepare(self.spec, private)
            rounds = (one_round(self.spec, private, prepared) for _ in range(MOST_ROUNDS))
            accepted = next((each for each in rounds if each is not None), None)
            if accepted is None:
                return False
            scores = released_figures(self.spec, accepted, private, prepared)
            self._joint(private, accepted.candidate, prepared.fitted, seed)
        release = Release(
            spec=self.spec,
            guarantee=stated_guarantee(self.spec, self.n_file, private.n),
            n_file=self.n_file,
            charges=self.spec.plan.total,
            candidate=accepted.candidate,
            scores=scores,
            measured=prepared.measured,
        )
        self.look(release, drawn, prepared)
        return True

    def add(self, statement: str, held: bool | float, width: float = float("nan")) -> None:
        self.found.setdefault(statement, Found()).add(held, width)

    def look(self, release: Release, drawn: Counts, prepared: Prepared) -> None:
        _, document, files = release_files(release)
        candidate, total = release.candidate, self.kept.total
        on = candidate.transformation
        truth, of_drawn = (BinnedCounts.of_atoms(table, on) for table in (self.kept, drawn))
        self._shares(document, candidate.counts, truth, of_drawn)
        self._without_noise(document, drawn, candidate)
        scaled = replace(candidate, counts=candidate.counts.with_counts(candidate.counts.counts * total))
        file = BinnedCounts.of_atoms(self.kept.with_counts(self.kept.counts * candidate.n), on)
        every, answered = True, True
        for part, criterion in zip(document.criteria, self.spec.criteria, strict=True):
            setting, interval = self.spec.setting, part.interval
            asked = criterion.asked(candidate.n, candidate, setting, prepared.fitted)
            if interval is None:
                continue
            if criterion.answered_by is not None:
                own = criterion.model_copy(update={"answered_by": None, "epsilon": Fraction(1)})
                exact = self._figure(own, candidate, prepared.fitted, of_drawn)
                if exact is not None:
                    self.add(f"bound by measurements: {part.name}", exact <= float(part.value), float(part.value))
                    answered = answered and exact <= float(part.value)
                continue
            if not isinstance(asked, Query):
                continue
            exact, high = asked.figure(of_drawn), np.inf if interval.high is None else float(interval.high)
            held = float(interval.low) <= exact <= high
            every = every and held
            self.add(f"interval: {part.name}", held, high - float(interval.low))
            if interval.high is not None:
                of_file = criterion.asked(scaled.n, scaled, setting, prepared.fitted)
                figure = of_file.figure(file) if isinstance(of_file, Query) else float("nan")
                if interval.file_high is None:
                    self.add(f"not stated: {part.name}, the file, by the interval's end", figure <= high, high)
                else:
                    self.add(f"limit for the file: {part.name}", figure <= interval.file_high, float(interval.file_high))
                    self.add(f"as before: {part.name}, the file, by the interval's end", figure <= high, high)
        self.add("not stated: all intervals together", every)
        self.add("all bounds by measurements together", answered)
        self._counts(document)
        self._estimates(document, files[CSV], truth)

    def _figure(self, criterion: Criterion, candidate: Candidate, fitted: Fitted, counts: Counts) -> float | None:
        """The exact figure of a table, where a criterion asks for one."""
        found = criterion.query(candidate.n, candidate, self.spec.setting, fitted)
        return found.figure(counts) if isinstance(found, Query) else None

    def _without_noise(self, document: ReleaseDocument, drawn: Counts, candidate: Candidate) -> None:
        """Intervals from redrawn noise, which are estimates: the figure when nothing that a criterion fits has noise."""
        parts = [part for part in document.criteria if part.interval is not None and part.interval.how == "redrawn noise"]
        if not parts:
            return
        exact = PrivateCounts(drawn, Meter(self.spec.plan.once)).rehearsed(NoNoise())
        fitted = prepare(self.spec, exact).fitted
        asked = [one for one in self.spec.criteria if one.name in {part.name for part in parts}]
        charges = [charge for one in asked for charge in one.per_score()]
        table = exact.with_plan(charges).on(candidate.transformation)
        found = {score.name: score.value for score in scores_of(asked, table, candidate, self.spec.setting, fitted)}
        for part in parts:
            interval, figure = part.interval, found[part.name]
            if interval is not None and interval.high is not None:
                held = float(interval.low) <= figure <= float(interval.high)
                self.add(f"estimate by redrawn noise: {part.name}", held, float(interval.high) - float(interval.low))

    def _joint(self, private: PrivateCounts, candidate: Candidate, fitted: Fitted, seed: int) -> None:
        """Draw the joint test for a table with one figure just above its threshold, all others far below theirs."""
        table = private.with_plan([]).on(candidate.transformation)
        figures = table.spend(
            [],
            lambda counts: {
                one.name: self._figure(one, candidate, fitted, counts) for one in self.spec.criteria if one.asks_something
            },
        )
        names = [name for name, figure in figures.items() if figure]
        sharp = names[seed % len(names)]
        asked = list[tuple[Criterion, Query | Score]]()
        for one in self.spec.criteria:
            figure = figures.get(one.name)
            if figure is None:
                continue
            most = figure - 1e-9 * abs(figure) if one.name == sharp else 2 * abs(figure) + 10
            moved = one.model_copy(update={"threshold": most})
            asked.append((moved, moved.query(candidate.n, candidate, self.spec.setting, fitted)))
        for _ in range(TESTS):
            passed = TEST.passes(private.with_plan([TEST.charge]).on(candidate.transformation), asked)
            self.add("joint test refuses a table just above a threshold", not passed)

    def _shares(self, document: ReleaseDocument, released: Counts, truth: Counts, drawn: Counts) -> None:
        columns = range(len(released.layout.sizes))
        alone, together = error_band(document, 1), error_band(document)
        off = max(furthest(released, truth, [column]) for column in columns)
        before = next(one.interval for one in document.criteria)
        if alone is not None and before is not None:
            self.add("all bands of single columns at once", off <= alone, alone)
            self.add("as before: all bands at once", off <= float(before.high or 0), float(before.high or 0))
        if together is not None:
            largest = band_columns(document) or len(columns)
            pairs = [pair for size in range(1, largest + 1) for pair in combinations(columns, size)]
            self.add(
                "error of shares of any combination",
                max(furthest(released, truth, pair) for pair in pairs) <= together,
                together,
            )

    def _counts(self, document: ReleaseDocument) -> None:
        kept = kept_rows(document)
        low, high = kept.limits(0.05)
        self.add("number of kept rows, between", low <= self.kept.total <= high, high - low)
        left_out = rows_left_out(document)
        if left_out is not None:
            self.add("records left out, from", left_out.least <= self.n_file - self.kept.total)
            self.add("records left out, to", self.n_file - self.kept.total <= left_out.most)

    def _estimates(self, document: ReleaseDocument, content: bytes, truth: Counts) -> None:
        if document.estimates is None:
            return
        (asked,) = document.estimates.intended
        if asked is not None and asked.low is not None and asked.high is not None:
            self.add(
                "estimate of an intended question",
                asked.low <= self.share(document, truth) <= asked.high,
                asked.high - asked.low,
            )
        places = {column.name: place for place, column in enumerate(document.columns)}
        errors, held = document.estimates.errors, list[bool]()
        for line in read_lines(content):
            if line.statistic == "count" and line.estimate and line.column in errors and not line.by and not line.question:
                place = places[line.column]
                rows = truth.marginal([place])[document.columns[place].labels.index(line.value)]
                held.append(abs(float(line.estimate) - rows) <= errors[line.column])
        if held:
            self.add(
                "error of a count of a bin (estimates.errors)", float(np.mean(held)), float(np.mean(list(errors.values())))
            )

    def share(self, document: ReleaseDocument, truth: Counts) -> float:
        """The true share that is asked for."""
        name, _, value = QUESTION[self.name].partition(" ")
        place = [column.name for column in document.columns].index(name)
        bins = np.arange(truth.layout.sizes[place])
        met = bins <= 1 if value.startswith("<=") else bins == 1
        return float(truth.marginal([place])[met].sum() / truth.total)


def furthest(left: Counts, right: Counts, columns: Sequence[int]) -> float:
    """The largest difference of a share between two tables."""
    return float(np.abs(left.marginal(list(columns)) / left.total - right.marginal(list(columns)) / right.total).max())


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Every draw from this seed."""
    kept, digests.SEED = digests.SEED, seed
    try:
        with digests.seeded():
            yield
    finally:
        digests.SEED = kept


def judged(held: Sequence[float]) -> tuple[int, str]:
    """Misses, and what the binomial law says of 93%. Where a statement has parts, the missing parts of all runs add up."""
    misses = int(len(held) - sum(held) + 1e-9)
    if binom.sf(misses - 1, len(held), 1 - LEAST) < CERTAIN:
        return misses, "excluded"
    return misses, "more" if binom.cdf(misses, len(held), 1 - LEAST) < CERTAIN else "not excluded"


def show(found: Mapping[str, Found]) -> None:
    print("| statement | mean width or limit | runs | misses | held | 93% |\n|---|---|---|---|---|---|")
    for statement, one in found.items():
        width, (misses, verdict) = np.mean(one.widths), judged(one.held)
        shown = f"{width:.3g}" if np.isfinite(width) else ""
        print(f"| {statement} | {shown} | {len(one.held)} | {misses} | {100 * np.mean(one.held):.1f}% | {verdict} |")


def together(paths: Sequence[Path]) -> None:
    """Several series as one table."""
    found, runs, tried = dict[str, Found](), 0, 0
    for path in paths:
        series = json.loads(path.read_text(encoding="utf-8"))
        runs, tried = runs + series["runs"], tried + series["tried"]
        for statement, (held, widths) in series["found"].items():
            one = found.setdefault(statement, Found())
            one.held += held
            one.widths += widths
    print(f"{runs} releases, {tried - runs} runs without a table\n")
    show(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(FILES))
    parser.add_argument("--file", type=Path, help="the file; needed for nist")
    parser.add_argument("--way", choices=["counted", "stated"], default="counted")
    parser.add_argument("--sharp", action="store_true")
    parser.add_argument("--joint", action="store_true")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no runs after so many")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--together", type=Path, nargs="+")
    options = parser.parse_args()
    if options.together:
        return together(options.together)
    start, runs, tried = time.process_time(), 0, 0
    last = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        text, ways = table_of(options.name, options.file), {"stated": options.way == "stated"}
        study = Study(options.name, text, Path(folder), **ways, sharp=options.sharp, joint=options.joint)
        while tried < options.runs and time.monotonic() < last:
            runs += study.run(1000 * options.seed + tried)
            tried += 1
            if options.out:
                found = {statement: (one.held, one.widths) for statement, one in study.found.items()}
                options.out.write_text(json.dumps({"runs": runs, "tried": tried, "found": found}), encoding="utf-8")
    seconds = time.process_time() - start
    of = f"{study.kept.total:,} kept rows of {study.n_file:,}"
    print(f"{runs} releases of {of}, {tried - runs} without a table; {seconds:,.0f} s\n")
    show(study.found)
    return None


if __name__ == "__main__":
    main()
