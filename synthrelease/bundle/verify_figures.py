"""Check that the released criterion values are consistent with their noise, thresholds, intervals, and the released table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.bundle.document import interval_part
from synthrelease.bundle.limits import file_end, public_facts, rows_were_drawn
from synthrelease.criteria import explain
from synthrelease.criteria.base import Criterion, possible_cells
from synthrelease.criteria.facts import PublicFacts, outward, shared_noise
from synthrelease.criteria.measured import all_limits
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import STEPS
from synthrelease.errors import RejectedRound, Unexpected, so_many
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import MeasuringGenerator
from synthrelease.generators.measured_noise import cube_sd
from synthrelease.privacy.charges import GENERATION, TOGETHER
from synthrelease.privacy.grids import figure_sd, grid_point, laplace_sd, noise_grid, shared_grid
from synthrelease.published.charges import BoundsPart, CriterionPart, SelectionPart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import (
    NAME,
    MeasuredSumPart,
    MeasuredTablePart,
    MeasurementsPart,
    on_released_bins,
    read_measurements,
    sum_on_released_bins,
)
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.checks import Check

if TYPE_CHECKING:
    from synthrelease.generators.measurements import NoisyMarginals

# The bounds of criteria that measurements answer, computed again from measurements.json and the released table.

# Relative tolerance for recomputed values. The checks need a tolerance because machines differ in the last digits.
_RELATIVE = 1e-9


def bound_problems(document: ReleaseDocument, facts: PublicFacts, content: bytes) -> Iterator[str]:
    """Yield a sentence for each problem of the upper bounds on criterion values from published noisy tables.

    Parameters
    ----------
    facts : the public facts, with the released table and the rules for private rows.
    content : the content of measurements.json, or empty if there is no such file.
    """
    answered = [part for part in document.criteria if part.answered]
    bounds = document.selection.bounds
    if (bounds is not None) != bool(answered):
        yield "selection: bounds must be stated if, and only if, measurements answer criteria"
        return
    if bounds is None:
        return
    if not document.selection.shared_measurements or not content:
        yield "selection: measurements answer criteria, so they must be shared by all rounds and published"
        return
    criteria = {part.name: facts.criteria.get(part.name) for part in answered}
    kinds = {name: criterion for name, criterion in criteria.items() if isinstance(criterion, Criterion)}
    try:
        bare = replace(facts, counts=None)
        sums = {name: criterion.measured_sums(bare) for name, criterion in kinds.items()}
        risk = float(Fraction(bounds.risk_exact)) / bounds.transformations
        if facts.raw is None or len(kinds) < len(criteria):
            raise ValueError("this version does not know a kind of criterion")
        limits = all_limits(sums, _measured(document, facts, content), possible_cells(facts.raw), risk)
        values = {name: outward(criterion.measured_bound(limits[name], facts)) for name, criterion in kinds.items()}
    except (LookupError, ValueError, TypeError) as error:
        yield f"the bounds do not follow from the measurements ({error})"
        return
    for part in answered:
        if not math.isclose(values[part.name], float(part.value), rel_tol=_RELATIVE):
            yield f"criterion {part.name!r}: the bound is {part.value}, but the measurements give {values[part.name]:g}"
        if part.sensitivity is not None or part.noise_sd is not None or part.noise_bound is not None:
            yield f"criterion {part.name!r}: a bound that follows from the measurements has no noise of its own"


def _measured(document: ReleaseDocument, facts: PublicFacts, content: bytes) -> NoisyMarginals:
    """Parse measurements.json, and convert its noisy tables and sums to the released bins.

    Raises
    ------
    ValueError : if the content has the wrong format.
    """
    from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals, NoisySum

    labels, layout = {column.name: column.labels for column in facts.columns}, facts.table.layout
    tables, sums, read = [], [], read_measurements(content, unknown="forbid")
    for part_of_sum in read.sums or []:
        released = sum_on_released_bins(part_of_sum, [labels[name] for name in part_of_sum.columns])
        if released is not None:
            sums.append(
                NoisySum(
                    text=released.name,
                    columns=tuple(layout.index(name) for name in released.columns),
                    scores=released.steps,
                    value=released.value,
                    epsilon=released.epsilon,
                    sensitivity=released.sensitivity,
                    together=released.together,
                )
            )
    for part in read.tables:
        table = on_released_bins(part, [labels[name] for name in part.columns])
        if table is None:
            raise ValueError("a measured bin belongs to no released bin")
        columns = tuple(layout.index(name) for name in table.columns)
        tables.append(NoisyMarginal(columns=columns, values=table.values, cost=table.cost, cells=table.cells, kind=part.kind))
    return NoisyMarginals(layout=layout, n=document.n_rows, tables=tuple(tables), sums=tuple(sums))


# The configuration determines which noisy tables are published. Their costs and their noise must agree with the charges.


def measurements(document: ReleaseDocument, files: Mapping[str, bytes]) -> Check:
    """Check that measurements.json contains the tables and sums that follow from the generator's settings, with the charged
    epsilons.

    The noisy counts themselves cannot be checked.
    """
    try:
        read = read_measurements(files.get(NAME, b""), unknown="forbid")
    except Unexpected as error:
        return Check(name="measurements", problems=(f"{NAME}: {error}",))
    problems = tuple(f"{NAME}: {problem}" for problem in _problems(document, read, files[NAME]))
    sums = f" and {so_many(len(read.sums), 'noisy sum')}" if read.sums else ""
    summary = f"{so_many(len(read.tables), 'noisy table')}{sums}, as charged"
    return Check(name="measurements", found=summary, problems=problems)


def _problems(document: ReleaseDocument, read: MeasurementsPart, content: bytes) -> Iterator[str]:
    if read.dumped() != content:
        yield "this file does not have the layout that synthrelease writes"
    if read.n_rows != document.n_rows:
        yield f"this file states {so_many(read.n_rows, 'row')}, but release.json states {document.n_rows:,}"
    columns = {column.name: column for column in document.columns}
    expected = dict(_expected(document))
    generator, _ = _generator(document)
    alike = generator is not None and all(table.kind is generator.noise for table in read.tables)
    costs = {tuple(table.columns): table.cost for table in read.tables} if alike else {}
    if costs != expected or len(costs) != len(read.tables):
        yield "its tables, or their costs, do not follow from the configuration and the charge of the generator"
        return
    sums = read.sums or []
    parts: list[MeasuredTablePart | MeasuredSumPart] = [*read.tables, *sums]
    sizes = {name: len(labels) for part in parts for name, labels in zip(part.columns, part.labels, strict=False)}
    layout = Layout(columns=tuple(columns), sizes=tuple(sizes.get(name, len(columns[name].bins)) for name in columns))
    found_sums = [
        (part.sum, tuple(part.columns), Fraction(part.epsilon), part.together or 1, part.steps or part.own_values)
        for part in sums
    ]
    if found_sums != list(_expected_sums(document, layout)):
        yield "its sums, their scores or their costs do not follow from the configuration and the charge of the generator"
        return
    for measured_sum in sums:
        yield from (
            f"sum {measured_sum.sum}: {problem}"
            for problem in _sum_problems(measured_sum, [columns[name] for name in measured_sum.columns])
        )
    for table in read.tables:
        name = ":".join(table.columns)
        problems = list(_table_problems(table, [columns[measured_sum] for measured_sum in table.columns]))
        # otherwise the table counts members or a piece of the file
        if not problems and document.linked is None and document.divided_rows is None:
            problems += _total_problem(table, read.n_rows)
        yield from (f"table {name}: {problem}" for problem in problems)


def _expected(document: ReleaseDocument) -> Iterator[tuple[tuple[str, ...], Fraction]]:
    generator, part = _generator(document)
    if generator is not None:
        names = tuple(column.name for column in document.columns)
        layout = Layout(columns=names, sizes=tuple(len(column.bins) for column in document.columns))
        for chosen, cost in generator.measured_tables(layout, part).items():
            yield tuple(names[index] for index in chosen), cost


def _expected_sums(
    document: ReleaseDocument, layout: Layout
) -> Iterator[tuple[str, tuple[str, ...], Fraction, int, list[Any]]]:
    """Yield the expected noisy sums: name, columns, epsilon, number of sums with the same noise, and what a row can add."""
    generator, part = _generator(document)
    if generator is None or any(generator.mistakes(layout, ())):
        return
    for noisy in generator.measured_sums(layout, part):
        adds = noisy.scores.tolist() if noisy.own is None else list(noisy.own.ends)
        yield noisy.text, tuple(layout.columns[index] for index in noisy.columns), noisy.epsilon, noisy.together, adds


def _generator(document: ReleaseDocument) -> tuple[MeasuringGenerator | None, Fraction]:
    """Return the generator that measured the published tables, and its budget.

    The generator is None if it measures no tables, or if the release states no charge for it, or several.
    """
    settings = document.configuration["generator"]
    generator = GENERATORS[str(settings.get("family"))].model_validate(settings)
    charged = [leaf for leaf in document.charges.leaves() if leaf.name == GENERATION]
    if isinstance(generator, MeasuringGenerator) and len(charged) == 1:
        return generator, generator.part(charged[0].charge())
    return None, Fraction(0)


def _sum_problems(part: MeasuredSumPart, columns: list[ColumnPart]) -> Iterator[str]:
    try:
        sum_on_released_bins(part, [column.labels for column in columns])
    except Unexpected as error:
        yield str(error)
        return
    scale = Fraction(STEPS if part.steps is None else int(np.ptp(np.array(part.steps)))) / Fraction(part.epsilon)
    together = part.together or 1
    sd = laplace_sd(scale) if together == 1 else cube_sd(together, scale)
    if (part.noise == "one noise") != (together > 1) or not (_near(part.scale, float(scale)) and _near(part.variance, sd**2)):
        yield "its noise, scale or variance does not follow from its steps, its epsilon and the sums that share the noise"
    yield from _bin_problems(part.labels, part.released, columns)


def _table_problems(table: MeasuredTablePart, columns: list[ColumnPart]) -> Iterator[str]:
    noise = table.kind.of_table(table.cost)
    if not (_near(table.scale, noise.scale) and _near(table.variance, noise.variance)):
        yield f"its scale or variance does not follow from its {noise.cost}"
    try:
        on_released_bins(table, [column.labels for column in columns])
    except Unexpected as error:
        yield str(error)
        return
    yield from _bin_problems(table.labels, table.released, columns)


def _total_problem(table: MeasuredTablePart, n_rows: int) -> Iterator[str]:
    """Yield a sentence if the counts in a noisy table differ from the number of rows, in total, by more than the noise
    explains.

    The noise exceeds this limit with a probability of 1e-15; in a million rounds of a search, below 1e-9 for each table.
    The limit follows from the moment generating function of a sum of k Laplace draws of scale b, which is at most exp(2 k
    (b t)^2) for b t up to sqrt(1/2). Sums of normal draws have a smaller moment generating function.
    """
    counts, beyond = np.array(table.counts, dtype=float), math.log(2e15)
    k, total, b = counts.size, math.fsum(counts.ravel()), math.sqrt(table.variance / 2)
    near = b * math.sqrt(8 * k * beyond)
    limit = near if near <= 2 * math.sqrt(2) * k * b else math.sqrt(2) * b * (k + beyond)
    if abs(total - n_rows) > limit:
        yield (
            f"its counts add up to {total:,.0f}, not to {so_many(n_rows, 'row')}. Its noise can change the sum by at most "
            f"{limit:,.0f}"
        )


def _bin_problems(labels: list[list[str]], released: list[list[int]], columns: list[ColumnPart]) -> Iterator[str]:
    for column, measured, into in zip(columns, labels, released, strict=False):
        if any(name in column.labels and column.labels.index(name) != new for name, new in zip(measured, into, strict=True)):
            yield f"column {column.name!r}: a measured bin belongs to a released bin with another label"
        if set(into) != set(range(len(column.labels))) or (column.ordered and into != sorted(into)):
            yield f"column {column.name!r}: its measured bins are in another order than the released bins, or omit one"


# Number of standard deviations by which the noise may move a criterion value. Larger noise has a negligible probability.
_REACH = 25


def figures(document: ReleaseDocument, table: ReleasedTable, raw: Plausibility, measured: bytes = b"") -> Check:
    """Check that the table met every criterion, and that all statements about criterion values follow from public facts.

    Parameters
    ----------
    measured : the content of measurements.json, from which some criterion values are computed again.
    """
    names = Counter(criterion.name for criterion in document.criteria)
    problems = [f"criterion {name!r}: this name occurs {count} times" for name, count in names.items() if count > 1]
    facts = public_facts(document, table.counts, raw)
    for criterion in document.criteria:
        of_criterion = [*_figure_problems(criterion, facts, document.selection), *_file_problems(criterion, document, facts)]
        problems += [f"criterion {criterion.name!r}: {problem}" for problem in of_criterion]
    problems += _sharing_problems(document)
    problems += bound_problems(document, facts, measured)
    beyond = sum(not criterion.decides and criterion.value > criterion.threshold for criterion in document.criteria)
    how = "all met" if document.selection.joint_test is None else "which passed the joint test"
    above = f"; {so_many(beyond, 'released value')} above the threshold" if beyond else ""
    n_criteria = so_many(len(document.criteria), "criterion", "criteria")
    limits = tuple(_not_stated(document))
    return Check(name="criterion values", found=f"{n_criteria}, {how}{above}", problems=tuple(problems), limits=limits)


def _not_stated(document: ReleaseDocument) -> Iterator[str]:
    """Yield a sentence for each fact about criterion values that is missing because of an early version of synthrelease."""
    has_limits = any(part.interval is not None and part.interval.file_high is not None for part in document.criteria)
    if document.first_documents and not has_limits and rows_were_drawn(document):
        yield f"The criterion values have no limits for the file, because version {document.written_by} did not write them."
    apart = document.selection.joint_test is not None and all(part.noise is None for part in document.criteria)
    if document.provisional and apart:
        yield f"Each criterion value has noise of its own, as in runs of version {document.run_by}."


def _figure_problems(criterion: CriterionPart, facts: PublicFacts, selection: SelectionPart) -> Iterator[str]:
    if not criterion.passed:
        yield "the criterion was not met, although a release must meet all criteria"
    if criterion.decides and not criterion.value <= criterion.threshold:
        yield f"the value {criterion.value} exceeds the threshold {criterion.threshold}"
    if (criterion.noise_sd is None) != (criterion.epsilon_exact == "0"):
        yield "the value has noise without epsilon, or epsilon without noise"
    if criterion.sensitivity is not None:
        yield from _noise_problems(criterion, facts)
    kind = criterion.criterion()
    exact = None if kind is None else explain(kind).public_figure(facts)
    if exact is None:
        yield from _range_problems(criterion)
    elif criterion.value != exact:
        yield f"the value is {criterion.value}, but the table gives {exact:g}"
    if not _same_interval(criterion, facts.n, selection.bounds):
        yield "the interval does not follow from the value and its noise"


def _range_problems(criterion: CriterionPart) -> Iterator[str]:
    """Yield a sentence if a criterion value lies outside the range of exact values by more than its noise explains.

    Laplace noise exceeds 25 standard deviations with a probability of 4.5e-16, and shared noise with a smaller one; in a
    million rounds of a search, below 1e-9. A value from a noisy fitted line gets no noise, so it must lie within the range.
    An upper bound from measurements is recomputed instead.
    """
    if criterion.answered:
        return
    added = criterion.noise_sd is not None and criterion.sensitivity is not None
    reach = _REACH * float(criterion.noise_sd or 0) if added else 0.0
    worst = math.inf if criterion.worst is None else float(criterion.worst)
    least, most = float(criterion.best) - reach, worst + reach
    if not least <= float(criterion.value) <= most:
        why = "with its noise" if added else "for its kind of criterion"
        yield f"the value is {criterion.value}, but only values from {least:g} to {most:g} are possible {why}"


def _sharing_problems(document: ReleaseDocument) -> Iterator[str]:
    """Yield a sentence unless the noise that criterion values share, and its cost, follow from the epsilons of the
    criteria.

    Values cannot share noise in a version before 1.0.0, or if the cost of the selection is a Renyi curve.
    """
    sharing = {part.name: part.noise for part in document.criteria if part.noise is not None}
    if document.selection.joint_test is None:
        if sharing:
            yield "criteria: values can share one noise only after a joint test, which this release did not make"
        return
    if not sharing and (document.provisional or document.selection.shape is not None):
        return
    if any(leaf.renyi is not None for leaf in document.charges.leaves()):
        paid = {leaf.name for node in document.charges.nodes() if node.rule == TOGETHER for leaf in node.leaves()}
        if unpaid := [name for name in sharing if f"criterion: {name}" not in paid]:
            yield f"criteria: {', '.join(unpaid)} share one noise, but the Renyi curve does not charge them as one mechanism"
    kinds = {part.name: part.criterion() for part in document.criteria}
    epsilons = {
        part.name: Fraction(part.epsilon_exact)
        for part in document.criteria
        if part.sensitivity is not None and ((kind := kinds[part.name]) is None or kind.own_noise)
    }
    noises = shared_noise(epsilons)
    for name in epsilons:
        if sharing.get(name) != (expected := noises.get(name)):
            words = "no noise" if expected is None else f"one noise with {so_many(expected.figures - 1, 'other value')}"
            yield f"criterion {name!r}: the epsilons of all values imply that this value must share {words}"
    yield from (f"criterion {name!r}: this value has no noise that it could share" for name in sharing if name not in epsilons)


def _noise_problems(criterion: CriterionPart, facts: PublicFacts) -> Iterator[str]:
    sensitivity = float(criterion.sensitivity or 0)
    if not (sensitivity > 0 and criterion.epsilon_exact != "0"):
        yield "the sensitivity and the epsilon must be above 0"
        return
    model = criterion.criterion()
    try:
        follows = None if model is None else explain(model).public_sensitivity(facts)
    except (LookupError, ValueError, TypeError, RejectedRound):
        follows = math.nan
    if follows is not None and not _near(follows, sensitivity):
        yield f"the sensitivity is {sensitivity:g}, but the table and the settings give {follows:g}"
    if criterion.noise is None:
        grid = noise_grid(sensitivity, facts.n)
        step, noise_sd = grid.step, figure_sd(grid, Fraction(criterion.epsilon_exact))
    else:
        step, noise_sd = shared_grid(sensitivity, facts.n).step, criterion.noise.sd(sensitivity, facts.n)
    if criterion.noise_bound is not None:
        yield "release.json states both added noise and a bound for noise that is not added"
    if criterion.noise_sd is None or not _near(noise_sd, float(criterion.noise_sd)):
        yield f"the noise has the standard deviation {noise_sd:g}, not {criterion.noise_sd}"
    if grid_point(float(criterion.value), step) * step != float(criterion.value):
        yield f"the value {criterion.value} is not a multiple of the step of its noise"


def _same_interval(criterion: CriterionPart, n: int, bounds: BoundsPart | None) -> bool:
    interval, computed = criterion.interval, interval_part(criterion, n, bounds)
    if interval is None or computed is None:
        return interval is None and computed is None
    same = (interval.how, interval.level, interval.high is None) == (computed.how, computed.level, computed.high is None)
    if interval.how not in ("noise", "noise and selection"):  # sums, which are equal on all machines
        return same and (interval.low, interval.high) == (computed.low, computed.high)
    return same and _near(interval.low, computed.low) and _near(interval.high or 0, computed.high or 0)


def _file_problems(criterion: CriterionPart, document: ReleaseDocument, facts: PublicFacts) -> Iterator[str]:
    """Yield a sentence unless the upper limit on a criterion value for the whole file follows from its interval and the
    random draw.

    Releases of version 1.0.0 state no such limits.
    """
    if criterion.interval is None or (criterion.interval.file_high is None and document.first_documents):
        return
    try:
        expected = file_end(criterion, document, facts) if rows_were_drawn(document) else None
    except (LookupError, ValueError, TypeError):
        expected = None
    limit = criterion.interval.file_high
    if (limit is None) != (expected is None) or (limit is not None and expected is not None and not _near(limit, expected)):
        stated, follows = ("no limit" if value is None else f"the limit {value:g}" for value in (limit, expected))
        yield f"release.json states {stated} for the file, but the value and the random draw of rows give {follows}"


def _near(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=_RELATIVE, abs_tol=1e-12)
