"""Tiny releases from end to end: a specification as people write it, and two neighbouring private files.

The columns are always `a` (0 or 1) and `b` (0, 1 or 2), so that a release is a table of at most six cells. What differs is
everything a specification can say about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.whole.drawn.cases import Case

Row = tuple[int | str, int | str]
Rows = tuple[Row, ...]

_COLUMNS = """
[columns.a]
kind = "integer"
bounds = [0, 1]
alternatives.single = ["0..1"]

[columns.b]
kind = "integer"
bounds = [0, 2]
alternatives.single = ["0..2"]
alternatives.halves = ["0", "1-2"]
"""

MARGINALS = 'kind = "absolute_marginal_error"\nthreshold = 0.4\nepsilon = 0.25'
ONE_WAY = 'kind = "absolute_marginal_error"\nlargest = 1\nthreshold = 0.3\nepsilon = 0.5'
RATIOS = 'kind = "relative_marginal_error"\nclip = 4\nthreshold = 2.5\nepsilon = 0.25'
MEANS = (
    'kind = "conditional_mean"\ncolumn = "b"\nby = ["a"]\nrange = [0, 2]\nsize_margin = 0.2\nthreshold = 1.0\nepsilon = 0.25'
)
ANSWERED_BY = "answered by measurements"
_ANSWER = 'answered_by = "measurements"'
MEANS_ANSWERED = MEANS.replace("epsilon = 0.25", f'{_ANSWER}\nvalues = "bins"').replace("threshold = 1.0", "threshold = 2.1")
ONE_WAY_ANSWERED = ONE_WAY.replace("epsilon = 0.5", _ANSWER).replace("threshold = 0.3", "threshold = 1.1")
"""Bounds that are published as they are: no figure is above these thresholds."""
FAITHFUL = 'kind = "faithfulness"\nexact = ["a"]\nwithin_one_bin = ["b"]\nthreshold = 0.5\nepsilon = 0.25'
FACE = 'kind = "face_privacy"\nminimum_count = 2'
_LINE = (
    'kind = "regression_coefficients"\ntarget = "b"\nfeatures = ["a"]\n'
    'representation = {a = "single", b = "single"}\nthreshold = 2\nepsilon = 0.25\n'
)
ONE_STEP = (
    'kind = "regression_one_step"\ntarget = "b"\nfeatures = ["a"]\nrange = [0, 2]\nfit_epsilon = 0.25\n'
    'representation = {a = "single", b = "single"}\nthreshold = 2\nepsilon = 0.25\n'
)
LINE_ONCE, LINE_ALWAYS = f'{_LINE}fit = "once"', f'{_LINE}fit = "every_round"'
PREDICTION = 'kind = "regression_prediction"\ncoefficients = "line"\nrange = [0, 2]\nthreshold = 1\nepsilon = 0.25'

DEGREE = 'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.3'
THETA = 'family = "privbayes"\nflavour = "theta"\ntheta = [0.05, 0.5]\nepsilon_split = 0.5'
ENTROPY = 'family = "marginals"\ntables = "a:b + 2 b"\nprior_weight = [0.1, 10]'
JOINT = 'test = "joint"\ntest_epsilon = 0.25\nfalse_acceptance = 0.2'
SHARED = 'measurements = "shared"'
HALVES = ("fit = 0.5", "score = 0.5")
PUBLISHED = "publish_measurements = true"
EXPONENTIAL = f'{DEGREE}\nselector = "exponential"'
MINIMUM_ONE, MINIMUM_TWO = ('kind = "minimum_count"\nminimum_count = ' + m for m in ("1", "[1, 2]"))

_RULE = "a == 0 and b == 2"

_LONE = ((0, 0), (0, 0), (0, 0), (0, 1), (0, 1)), (1, 2), (0, 0)
_TURNED = ((0, 0), (0, 1), (1, 1), (1, 2), (1, 2)), (1, 2), (0, 0)
_ONE_BIN = ((0, 0), (0, 0), (1, 2), (1, 2), (1, 2)), (1, 1), (1, 2)
"""Records that both neighbours have, then the one record of each."""


ALL_KEPT = ('missing = "error"', 'outside = "error"')
"""Without them the number of kept rows is counted with noise, and a release of these few rows has one."""


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """One release: the tables of its two files as TOML texts, and the rows of two private files."""

    name: str
    criteria: tuple[tuple[str, str], ...]
    neighbours: tuple[Rows, Row, Row] = _LONE
    generators: tuple[str, ...] = (DEGREE,)
    projection: str = MINIMUM_ONE
    generation: str = "0.5"
    stop_probability: str = "0.1"
    rules: tuple[str, ...] = ()
    binnings: tuple[str, ...] = ("single",)
    jobs: int = 1
    selection: tuple[str, ...] = ()
    input: tuple[str, ...] = ALL_KEPT
    budget: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()

    def configuration(self) -> str:
        """The text of the configuration file."""
        rules = "".join(f'[[rules]]\nnever = "{rule}"\n' for rule in self.rules)
        generators = "".join(f"[[generators]]\n{text}\n" for text in self.generators)
        return (
            f'title = "{self.name}"\nacceptance = "acceptance.toml"\n{self._table("input", self.input)}{_COLUMNS}\n'
            f"[transformations]\nb = {list(self.binnings)}\n{rules}{generators}[[projections]]\n{self.projection}\n"
            + (self._table("partition", self.partition) if self.partition else "")
            + self._table("budget", (f"generation = {self.generation}", *self.budget))
            + self._table(
                "selection",
                (*([f"stop_probability = {self.stop_probability}"] if self.stop_probability else []), *self.selection),
            )
        )

    @staticmethod
    def _table(name: str, lines: tuple[str, ...]) -> str:
        return "\n".join([f"[{name}]", *lines]) + "\n"

    def acceptance(self) -> str:
        """The text of the acceptance file."""
        return "".join(f'[[criteria]]\nname = "{name}"\n{text}\n' for name, text in self.criteria)

    def rows(self, side: str) -> Rows:
        """The private rows of one neighbour."""
        shared, left, right = self.neighbours
        return (*shared, left if side == "left" else right)

    def written(self, folder: Path, side: str) -> tuple[Path, Path]:
        """Write the two TOML files and one private file; (configuration, data)."""
        (folder / "release.toml").write_text(self.configuration(), encoding="utf-8")
        (folder / "acceptance.toml").write_text(self.acceptance(), encoding="utf-8")
        rows = "".join(f"{a},{b}\n" for a, b in self.rows(side))
        (folder / "private.csv").write_text(f"a,b\n{rows}", encoding="utf-8")
        return folder / "release.toml", folder / "private.csv"


LEFT_OUT: dict[str, tuple[Row, tuple[str, ...], tuple[str, ...]]] = {
    "a missing value": (("", 0), ('missing = "drop"',), ()),
    "a value outside": ((7, 0), ('outside = "drop"',), ()),
    "an implausible row": ((0, 2), (), (_RULE,)),
}
"""Reasons why a row is left out: such a row, the lines of [input], and the rules."""


def left_out(reason: str, rows: str, *, budget: str = "") -> Pipeline:
    """A release of neighbours of six rows of which one keeps all and the other leaves one out; `rows` as in [input]."""
    row, policy, rules = LEFT_OUT[reason]
    shared, keeping, _ = _LONE
    return Pipeline(
        name=f"{reason}, rows {rows.replace(chr(34), '')}{f' at epsilon {budget}' if budget else ''}",
        criteria=(("marginals", MARGINALS),),
        neighbours=(shared, keeping, row),
        generation="0.25",
        rules=rules,
        input=(f"rows = {rows}", *policy),
        budget=(f"rows = {budget}",) if budget else (),
    )


def pipelines() -> Iterator[Pipeline]:
    """All releases of the audit."""
    for reason in LEFT_OUT:
        for budget in ("2", "4"):  # a margin of 3 rows, and of 1
            yield left_out(reason, '"private"', budget=budget)
        for number in ("4", "6"):  # below the kept rows of both, and above those of one
            yield left_out(reason, number)
    marginals, line = ("marginals", MARGINALS), ("line", LINE_ONCE)
    for name, neighbours in {"a lone record": _LONE, "a record turns": _TURNED, "one bin apart": _ONE_BIN}.items():
        yield Pipeline(name=f"marginals, {name}", criteria=(marginals,), neighbours=neighbours)
        yield Pipeline(name=f"faithfulness, {name}", criteria=(("faithful", FAITHFUL),), neighbours=neighbours)
        yield Pipeline(name=f"theta and two projections, {name}", criteria=(("ratios", RATIOS),), neighbours=neighbours,
                       generators=(THETA,), projection=MINIMUM_TWO)  # fmt: skip
    yield Pipeline(name="one-way tables", criteria=(("one way", ONE_WAY),))
    yield Pipeline(name="ratios", criteria=(("ratios", RATIOS),), neighbours=_TURNED)
    yield Pipeline(name="means", criteria=(("means", MEANS),))
    yield Pipeline(name="means, one bin apart", criteria=(("means", MEANS),), neighbours=_ONE_BIN)
    yield Pipeline(name="a line fitted once", criteria=(line,), neighbours=_TURNED)
    yield Pipeline(name="a line fitted in every round", criteria=(("line", LINE_ALWAYS),), neighbours=_TURNED)
    yield Pipeline(name="prediction", criteria=(line, ("prediction", PREDICTION)), neighbours=_TURNED)
    yield Pipeline(name="exponential mechanism", criteria=(marginals,), generators=(EXPONENTIAL,), generation="2")
    yield Pipeline(name="two generators, two binnings", criteria=(marginals, ("means", MEANS)), generators=(DEGREE, THETA),
                   binnings=("single", "halves"))  # fmt: skip
    yield Pipeline(name="a rule", criteria=(marginals,), rules=(_RULE,), input=("rows = 6", *ALL_KEPT))  # all six
    yield Pipeline(
        name="face privacy", criteria=(marginals, ("face", FACE)), projection='kind = "minimum_count"\nminimum_count = 2'
    )
    yield Pipeline(name="rarely stopped", criteria=(("faithful", FAITHFUL),), stop_probability="0.001", neighbours=_TURNED)
    yield Pipeline(name="stopped every other time", criteria=(("faithful", FAITHFUL),), stop_probability="0.5")
    yield Pipeline(name="little for the generation", criteria=(marginals, ("ratios", RATIOS)), generation="0.1")
    yield Pipeline(name="much for the generation", criteria=(marginals,), generation="4", neighbours=_TURNED)
    yield Pipeline(name="maximum entropy", criteria=(marginals,), generators=(ENTROPY,))
    yield Pipeline(name="measured once", criteria=(marginals,), generators=(ENTROPY,), selection=(SHARED,), neighbours=_ONE_BIN)
    yield Pipeline(name="tested jointly", criteria=(marginals, ("ratios", RATIOS)), selection=(JOINT,), neighbours=_TURNED)
    yield Pipeline(name="measured once and tested jointly", criteria=(("faithful", FAITHFUL), ("means", MEANS)),
                   generators=(ENTROPY,), selection=(SHARED, JOINT))  # fmt: skip
    yield Pipeline(name="one step", criteria=(("line", ONE_STEP), ("prediction", f'{PREDICTION}\nbound = "lines"')),
                   generators=(ENTROPY,), selection=(SHARED, JOINT), neighbours=_TURNED)  # fmt: skip
    yield Pipeline(name=ANSWERED_BY, criteria=(("means", MEANS_ANSWERED), ("one way", ONE_WAY_ANSWERED)),
                   generators=(ENTROPY,), selection=(SHARED, PUBLISHED))  # fmt: skip
    for name, neighbours in {"a lone record": _LONE, "a record turns": _TURNED}.items():
        yield Pipeline(name=f"two pieces, {name}", criteria=(marginals,), neighbours=neighbours, partition=HALVES)
    yield Pipeline(name="two pieces, measured once and tested jointly", criteria=(("faithful", FAITHFUL),),
                   generators=(ENTROPY,), selection=(SHARED, JOINT), partition=HALVES)  # fmt: skip
    yield Pipeline(name="four criteria", neighbours=_TURNED, generators=(DEGREE, THETA), criteria=(
        marginals, line, ("prediction", PREDICTION), ("faithful", FAITHFUL)))  # fmt: skip


# Cases of whole releases: specification, file, rounds, criteria, selection, as `synthrelease release` runs them.

DRAWS = 200
FAULTY_DRAWS = 1_000
"""A known fault of a whole release must be found among all other cases, which takes more draws than to find none."""
_CELLS = 6


def pipeline_cases() -> Iterator[Case]:
    """Every pipeline, at the epsilon of its printed plan."""
    for pipeline in pipelines():
        yield pipeline_case(pipeline)


def pipeline_case(pipeline: Pipeline, *, run: Pipeline | None = None) -> Case:
    """Whole releases of two neighbouring files; `run` is the release that is run where it is not the one that is claimed."""
    with TemporaryDirectory() as folder:
        spec = load_spec(pipeline.written(Path(folder), "left")[0])
    scores = tuple(f"score of {criterion.name}" for criterion in spec.criteria)
    draw = partial(_releases, run or pipeline)
    return Case(
        family="whole release",
        name=f"release: {pipeline.name}{f', run with {run.name}' if run else ''}",
        claim=float(spec.plan.total.epsilon),
        draw=draw,
        sides=("left", "right"),
        features=("released", "configuration", "number of rows", *(f"rows in cell {cell}" for cell in range(_CELLS)), *scores),
        draws=DRAWS if run is None else FAULTY_DRAWS,
        faulty=run is not None,
    )


def _releases(pipeline: Pipeline, side: str, draws: int) -> np.ndarray:
    """Draw (draws, k): everything that a release publishes, as numbers."""
    with TemporaryDirectory() as folder:
        configuration, data = pipeline.written(Path(folder), side)
        spec = load_spec(configuration)
        return np.array([_published(spec, release(spec, data, jobs=pipeline.jobs)) for _ in range(draws)])


def _published(spec: ReleaseSpec, result: Release | None) -> list[float]:
    if result is None:
        return [0.0, -1.0, 0.0, *([0.0] * (_CELLS + len(spec.criteria)))]
    described = [configuration.describe() for configuration in spec.space]
    rows = result.candidate.counts.dense()
    return [
        1.0,
        float(described.index(result.candidate.configuration.describe())),
        float(result.candidate.counts.total),
        *np.pad(rows, (0, _CELLS - len(rows))).tolist(),
        *(score.value for score in result.scores),
    ]
